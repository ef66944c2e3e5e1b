import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type Log, UpstreamError } from 'sallyport'
import { type RedisConnection, WRITE_LIMIT } from '#plugins/store/redis/connection.js'
import { Turns } from '#plugins/store/turns.js'

/** Milliseconds after which the lock of a killed process is free. */
const TTL = 10_000
const RENEW_AFTER = 3_000
const POLL_INTERVAL = 50
const WARN_AFTER = 3_000

/** A lock that this process has, by its name in Redis and the token that no other holder has. */
interface HeldLock {
  readonly name: string
  readonly token: string
  isReleased: boolean
}

// Each gives the same answer when it runs twice: its first reply may be lost with a connection.
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

/** Locks across processes that end by themselves, so a write under one says which lock it needs. */
export class RedisLocks {
  private readonly turns = new Turns()
  private readonly held = new AsyncLocalStorage<readonly HeldLock[]>()

  constructor(
    private readonly connection: RedisConnection,
    private readonly log: Pick<Log, 'warn'>,
  ) {}

  /** The locks under which the calling code runs, lost ones too. What outlives its work, such as a timer, has none. */
  get current(): readonly HeldLock[] {
    return (this.held.getStore() ?? []).filter(({ isReleased }) => !isReleased)
  }

  /** Queued within this process, so that only one of its waiters polls. */
  locked<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.turns.run(name, () => this.withLock(name, work))
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
      // If it fails, the lock ends by itself.
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
    if (renewed === 0)
      this.log.warn({ lock: lock.name }, 'a lock was lost; what is written under it is refused')
  }

  private call(script: string, { name, token }: HeldLock): Promise<unknown> {
    return this.connection.run((client) => client.eval(script, 1, name, token, TTL), WRITE_LIMIT)
  }
}

/** Another process may have the lock, and have written since. */
export const lockLost = (): UpstreamError =>
  new UpstreamError('REDIS_LOCK_LOST', 'a lock in Redis was lost, so nothing was written', {
    statusCode: 503,
    retryAfter: 5,
  })
