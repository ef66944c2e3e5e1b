import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Log, type StateStore, UpstreamError } from 'sallyport'
import { KeyedMutex } from '#plugins/store/keyed-mutex.js'
import { type RedisConnection, WRITE_LIMIT } from '#plugins/store/redis/connection.js'
import type { SealedValues } from './sealed-values.js'

interface Dependencies {
  readonly connection: RedisConnection
  readonly sealed: SealedValues
  readonly prefix: string
  readonly log: Pick<Log, 'warn'>
}

// The keys of the locks come first, then the key of the value. A lock that is lost, or of another holder, stops the
// write.
const IF_LOCKED = `
for index = 2, #KEYS do
  if redis.call('get', KEYS[index]) ~= ARGV[index] then return 0 end
end`
const SET = `${IF_LOCKED}
local life = tonumber(ARGV[#KEYS + 1])
if life then redis.call('set', KEYS[1], ARGV[1], 'PX', life) else redis.call('set', KEYS[1], ARGV[1]) end
return 1`
// Takes the value only when it is still the one that was read; else the caller reads again.
const TAKE = `${IF_LOCKED}
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 2 end
redis.call('del', KEYS[1])
return 1`
const DELETE = `${IF_LOCKED}
redis.call('del', KEYS[1])
return 1`

const SCAN_COUNT = 500

type SetOptions = NonNullable<Parameters<StateStore['set']>[2]>

/**
 * Encrypted values in Redis. Under a lock, a write succeeds only while the lock is held; a value that cannot be
 * decrypted throws, and is not overwritten.
 */
export class RedisStore implements StateStore {
  private readonly connection: RedisConnection
  private readonly sealed: SealedValues
  private readonly values: string
  private readonly lockNames: string
  private readonly locks: RedisLocks

  constructor({ connection, sealed, prefix, log }: Dependencies) {
    this.connection = connection
    this.sealed = sealed
    this.values = `${prefix}state:`
    this.lockNames = `${prefix}lock:`
    this.locks = new RedisLocks(connection, log)
  }

  async get(key: string): Promise<string | undefined> {
    const sealed = await this.sealedOf(key)
    return sealed === null ? undefined : this.sealed.open(key, sealed)
  }

  async set(key: string, value: string, { expiresAt }: SetOptions = {}): Promise<void> {
    await this.get(key)
    const life = expiresAt === undefined ? undefined : Math.ceil(expiresAt - Date.now())
    if (life !== undefined && life <= 0) await this.delete(key)
    else await this.write(SET, key, this.sealed.seal(key, value), life)
  }

  async take(key: string): Promise<string | undefined> {
    for (;;) {
      const sealed = await this.sealedOf(key)
      if (sealed === null) return undefined
      const value = this.sealed.open(key, sealed)
      if ((await this.write(TAKE, key, sealed)) === 1) return value
    }
  }

  async delete(key: string): Promise<void> {
    await this.write(DELETE, key, '')
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const pattern = `${globEscaped(this.values + encoded(wholeCharacters(prefix)))}*`
    const found = new Set<string>()
    let cursor = '0'
    do {
      const [next, names] = await this.connection.run((client) =>
        client.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT),
      )
      cursor = next
      for (const name of names) {
        const key = decoded(name.slice(this.values.length))
        if (key?.startsWith(prefix) === true) found.add(key)
      }
    } while (cursor !== '0')
    return [...found].sort()
  }

  locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.locks.locked(this.lockNames + encoded(key), work)
  }

  private sealedOf(key: string): Promise<string | null> {
    return this.connection.run((client) => client.get(this.values + encoded(key)))
  }

  /** `life`: milliseconds until it expires. Returns what the script did. */
  private async write(script: string, key: string, value: string, life?: number): Promise<unknown> {
    const locks = this.locks.current
    const names = [this.values + encoded(key), ...locks.map(({ name }) => name)]
    const texts = [value, ...locks.map(({ token }) => token), life ?? '']
    const written = await this.connection.run(
      (client) => client.eval(script, names.length, ...names, ...texts),
      WRITE_LIMIT,
    )
    if (written === 0) throw lockLost()
    return written
  }
}

// As JSON, since a JavaScript string may hold half a surrogate pair, which UTF-8 cannot.
const encoded = (key: string): string => JSON.stringify(key).slice(1, -1)

/** Returns undefined for a name that another program wrote. */
function decoded(name: string): string | undefined {
  try {
    const key: unknown = JSON.parse(`"${name}"`)
    return typeof key === 'string' && encoded(key) === name ? key : undefined
  } catch {
    return undefined
  }
}

// Half a surrogate pair is encoded in another way when the other half follows.
const wholeCharacters = (prefix: string): string => prefix.replace(/[\ud800-\udbff]$/, '')

const globEscaped = (text: string): string => text.replaceAll(/[\\*?[\]^-]/g, '\\$&')

/** Milliseconds after which the lock of a killed process is free. */
const TTL = 10_000
const RENEW_AFTER = 3_000
const POLL_INTERVAL = 50
const WARN_AFTER = 3_000

/** A lock that this process holds: its name in Redis, and the token that no other holder has. */
interface HeldLock {
  readonly name: string
  readonly token: string
  isReleased: boolean
}

// Each script gives the same reply when it runs twice: its first reply may be lost with a connection.
const ACQUIRE = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0`
const RENEW = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return 0`
const RELEASE = `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`

/** Locks across processes that expire, so a write under a lock names the lock that it needs. */
class RedisLocks {
  private readonly mutex = new KeyedMutex()
  private readonly held = new AsyncLocalStorage<readonly HeldLock[]>()

  constructor(
    private readonly connection: RedisConnection,
    private readonly log: Pick<Log, 'warn'>,
  ) {}

  /**
   * The locks under which the calling code runs, lost ones too. Code that outlives the work, such as a timer, has
   * none.
   */
  get current(): readonly HeldLock[] {
    return (this.held.getStore() ?? []).filter(({ isReleased }) => !isReleased)
  }

  /** Queued within this process, so that only one of its waiters polls. */
  locked<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.mutex.run(name, () => this.withLock(name, work))
  }

  private async withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const lock: HeldLock = { name, token: randomBytes(16).toString('hex'), isReleased: false }
    await this.acquire(lock)
    const renewal = setInterval(() => void this.renew(lock), RENEW_AFTER).unref()
    try {
      return await this.held.run([...this.current, lock], work)
    } finally {
      clearInterval(renewal)
      lock.isReleased = true
      // If the release fails, the lock expires by itself.
      await this.call(RELEASE, lock).catch(() => {})
    }
  }

  private async acquire(lock: HeldLock): Promise<void> {
    const begun = performance.now()
    let warned = false
    while ((await this.call(ACQUIRE, lock)) !== 1) {
      if (!warned && performance.now() - begun > WARN_AFTER) {
        warned = true
        this.log.warn({ lock: lock.name }, 'waiting for a lock that another process holds')
      }
      await setTimeout(POLL_INTERVAL * (1 + Math.random()))
    }
  }

  private async renew(lock: HeldLock): Promise<void> {
    const renewed = await this.call(RENEW, lock).catch(() => undefined)
    if (renewed === 0) this.log.warn({ lock: lock.name }, 'a lock was lost; writes under it are refused')
  }

  private call(script: string, { name, token }: HeldLock): Promise<unknown> {
    return this.connection.run((client) => client.eval(script, 1, name, token, TTL), WRITE_LIMIT)
  }
}

/** Another process may hold the lock, and may have written since. */
const lockLost = (): UpstreamError =>
  new UpstreamError('REDIS_LOCK_LOST', 'a lock in Redis was lost, so nothing was written', {
    statusCode: 503,
    retryAfter: 5,
  })
