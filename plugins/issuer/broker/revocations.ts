import { randomBytes } from 'node:crypto'
import { GatewayError, type Identity, type Log, type Standing } from 'sallyport'
import { type JsonObject, within } from 'sallyport/toolkit'
import { z } from 'zod'
import type { StoredLogin } from './logins.js'
import type { SealedState } from './values.js'

const KIND = 'revocation'
/** Changes with each revocation: what is revoked is read anew only then, since listing keys costs a store more. */
const LATEST = 'revocation-latest'
/** Is there once a gateway with this key file has started on this store. */
const FOLLOWED = 'revocations-followed'
// In milliseconds. With the time of a read a revocation counts within 5 s.
const POLL_INTERVAL = 3_000
const READ_LIMIT = 10_000

const person = z.object({ idp: z.string(), subject: z.string() })
const session = z.object({ session: z.string() })
const Stored = z.intersection(
  z.union([person, session]),
  z.object({ at: z.number(), until: z.number().optional() }),
)

/** A person of any provider, or one sign-in. */
export type RevokedEntry = z.output<typeof person> | z.output<typeof session>
type Stored = z.output<typeof Stored>

interface Dependencies {
  readonly state: SealedState
  readonly issuer: string
  /** Milliseconds that what is known holds without the store. */
  readonly staleFor: number
  /** Seconds for which something that hangs on a sign-in can be good. */
  readonly lifetime: number
  readonly log: Log
}

/** What is revoked, in memory: it follows the state store, in which all processes write. */
export class Revocations {
  /** By ID. They end by their time alone: nothing that is revoked becomes good again. */
  private readonly entries = new Map<string, Stored>()
  private readKeys: ReadonlySet<string> = new Set()
  /** By provider and subject: in milliseconds, the time up to which sign-ins are refused. */
  private readonly people = new Map<string, Map<string, number>>()
  private readonly sessions = new Set<unknown>()
  private readonly listeners = new Set<() => void>()
  private latest: unknown
  private isKnown = false
  private isAnnounced = false
  private failed = false
  private isStopped = false
  private poll: NodeJS.Timeout | undefined
  private staleness: NodeJS.Timeout | undefined

  constructor(private readonly dependencies: Dependencies) {}

  standing({ issuer, subject, claims }: Identity): Standing {
    if (!this.isKnown) return 'unknown'
    const isOwn = issuer === this.dependencies.issuer
    if (isOwn && this.sessions.size > 0 && this.sessions.has(claims['sid'])) return 'revoked'
    if (this.people.size === 0) return 'good'
    const idp = isOwn ? claims['idp'] : (issuer ?? claims['iss'])
    const until = typeof idp === 'string' ? this.people.get(idp)?.get(subject) : undefined
    if (until === undefined) return 'good'
    // A refresh makes no new sign-in, and an `iat` of the broker is that of the refresh.
    const time = isOwn ? claims['auth_time'] : claims['iat']
    return typeof time === 'number' && Math.round(time * 1000) > until ? 'good' : 'revoked'
  }

  /** Whether a sign-in ended by a revocation, although it is still stored. */
  concerns({ id, idp, subject, at }: Pick<StoredLogin, 'id' | 'idp' | 'subject' | 'at'>): boolean {
    return this.sessions.has(id) || at <= (this.people.get(idp)?.get(subject) ?? -1)
  }

  onRevoked(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** Writes it for all processes, and applies it in this one. A person of another provider has tokens of any lifetime. */
  async add(entry: RevokedEntry, isOfBroker: boolean): Promise<Stored> {
    const { state, lifetime } = this.dependencies
    if (!this.isKnown && (await state.get(FOLLOWED, '')) === undefined) throw unfollowed()
    const id = randomBytes(18).toString('base64url')
    const at = Date.now()
    const stored: Stored = { ...entry, at, ...(isOfBroker && { until: at + lifetime * 1000 }) }
    const seconds = isOfBroker ? lifetime : undefined
    await state.set(KIND, id, { id, ...stored }, seconds)
    // After the value itself: whoever sees this change finds the value.
    await state.set(LATEST, '', { id })
    this.entries.set(id, stored)
    this.apply()
    return stored
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.poll)
    clearTimeout(this.staleness)
  }

  /** Reads what is revoked, and follows it from then on. It never rejects. */
  async follow(): Promise<void> {
    const { log, staleFor } = this.dependencies
    try {
      await within(
        READ_LIMIT,
        this.read(),
        () => new Error(`it did not respond within ${READ_LIMIT / 1000} s`),
      )
      if (this.isStopped) return
      if (this.failed) log.info('what is revoked can be read again')
      this.failed = false
      this.isKnown = true
      clearTimeout(this.staleness)
      this.staleness = setTimeout(() => this.outdated(), staleFor).unref()
      if (!this.isAnnounced) await this.announce()
    } catch (cause) {
      if (!this.failed)
        log.warn({ err: cause, staleFor }, 'what is revoked cannot be read: the last list holds')
      this.failed = true
    }
    if (this.isStopped) return
    const interval = Math.min(POLL_INTERVAL, Math.max(100, staleFor / 2))
    this.poll = setTimeout(() => void this.follow(), interval).unref()
  }

  private async announce(): Promise<void> {
    const { state } = this.dependencies
    if ((await state.get(FOLLOWED, '')) === undefined) await state.set(FOLLOWED, '', {})
    this.isAnnounced = true
  }

  private outdated(): void {
    this.isKnown = false
    this.dependencies.log.error(
      'it is not known any more what is revoked: calls get 503 until the state store is back',
    )
  }

  private async read(): Promise<void> {
    const { state } = this.dependencies
    const { id: latest } = (await state.get(LATEST, '')) ?? {}
    if (latest === this.latest && this.isKnown) {
      this.dropExpired()
      return
    }
    const keys = await state.keysOf(KIND)
    const before = this.entries.size
    try {
      for (const key of keys) if (!this.readKeys.has(key)) await this.readEntry(key)
    } finally {
      // What was read counts, although the rest cannot be read.
      if (this.entries.size > before) this.apply()
    }
    this.readKeys = new Set(keys)
    this.latest = latest
  }

  private async readEntry(key: string): Promise<void> {
    const { state, log } = this.dependencies
    const value = await state.own(KIND, key)
    const { data } = Stored.safeParse(value)
    const id = String(value?.['id'])
    if (data === undefined || this.entries.has(id)) return
    this.entries.set(id, data)
    if (this.isKnown) log.info(loggedOf(data), 'revoked by another process')
  }

  private dropExpired(): void {
    const now = Date.now()
    const expired = [...this.entries].filter(([, { until }]) => until !== undefined && until < now)
    for (const [id] of expired) this.entries.delete(id)
    if (expired.length > 0) this.index()
  }

  private apply(): void {
    this.index()
    for (const listener of this.listeners) listener()
  }

  private index(): void {
    this.people.clear()
    this.sessions.clear()
    for (const entry of this.entries.values()) {
      if ('session' in entry) {
        this.sessions.add(entry.session)
        continue
      }
      const { idp, subject, at } = entry
      const ofIdp = this.people.get(idp) ?? new Map<string, number>()
      ofIdp.set(subject, Math.max(at, ofIdp.get(subject) ?? 0))
      this.people.set(idp, ofIdp)
    }
  }
}

/** What a line of the log shows of it. */
export const loggedOf = (entry: RevokedEntry): JsonObject =>
  'session' in entry ? { session: entry.session } : { idp: entry.idp, subject: entry.subject }

const unfollowed = (): GatewayError =>
  new GatewayError(
    'REVOCATION_UNREAD',
    'no gateway with this key file has started on this state store, so none would learn of it: expected the same configuration, key file and store as those of the gateway',
  )
