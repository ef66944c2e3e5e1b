import { type Log, type StateStore, UpstreamError } from 'sallyport'
import { ExpiringMap, type LogThrottle } from 'sallyport/toolkit'

/** Sessions that were signed out, of this process; a list that takes the place of this one knows them too. */
export const endedHere = (): ExpiringMap<true> => new ExpiringMap<true>(100_000)

interface Dependencies {
  readonly here: ExpiringMap<true>
  /** Where all replicas find them, if the list has one. */
  readonly store: () => StateStore | undefined
  readonly log: Log
  readonly throttle: LogThrottle
}

/** Remembers who signed out, for as long as a copy of a cookie of theirs could be used. */
export class EndedSessions {
  constructor(private readonly dependencies: Dependencies) {}

  /** At once in this process. The store follows, and what fails there is logged: the browser has lost its cookie in any case. */
  async add(id: string, until: number): Promise<void> {
    const { here, store, log, throttle } = this.dependencies
    here.set(id, true, until)
    try {
      await store()?.set(keyOf(id), 'signed out', { expiresAt: until })
    } catch (cause) {
      const message = 'a sign-out could not be stored: other replicas still accept copies of the cookie'
      throttle.write(log, 'warn', message, {}, { err: cause })
    }
  }

  /** As far as this process knows. */
  hasHere(id: string): boolean {
    return this.dependencies.here.get(id) === true
  }

  /** Throws when the store cannot be asked: whether a session has ended is not guessed. */
  async has(id: string): Promise<boolean> {
    if (this.hasHere(id)) return true
    try {
      return (await this.dependencies.store()?.get(keyOf(id))) !== undefined
    } catch (cause) {
      const detail = { statusCode: 503, retryAfter: 5, cause } as const
      const message = 'it cannot be found out right now whether this session has ended'
      throw new UpstreamError('SIGN_IN_UNAVAILABLE', message, detail)
    }
  }
}

// Random, so no other plugin that stores there has the same.
const keyOf = (id: string): string => `signed-out:${id}`
