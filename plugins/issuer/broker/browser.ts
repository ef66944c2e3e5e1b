import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ChunkedCookie } from '#plugins/login/browser/cookies.js'
import type { Seal } from '#plugins/login/browser/seal.js'
import type { SealedState } from './values.js'

const session = z.object({ id: z.string(), login: z.string(), at: z.number(), written: z.number() })

/** The session of a browser: its own ID, the sign-in, when the person signed in, and when the cookie was written. */
export type BrowserLogin = z.output<typeof session>

const PURPOSE = 'broker'
const ENDED = 'ended browser'
const IDLE = 600_000
const RENEWED = 60_000

/** Remembers for some minutes that a browser signed in, so that a second client needs only a consent. */
export class BrowserLogins {
  private readonly cookie: ChunkedCookie

  constructor(
    private readonly seal: Seal,
    private readonly state: SealedState,
    secure: boolean,
  ) {
    this.cookie = new ChunkedCookie(seal.cookieName(PURPOSE), secure, 1)
  }

  async read({ headers }: FastifyRequest): Promise<BrowserLogin | undefined> {
    const sealed = this.cookie.read(headers.cookie)
    const found = sealed === undefined ? undefined : await this.seal.open(PURPOSE, sealed, session)
    if (found === undefined || (await this.state.get(ENDED, found.id)) !== undefined) return undefined
    return found
  }

  /** The values of `Set-Cookie` for a new session. */
  begin(login: string, at: number): Promise<readonly string[]> {
    return this.write({ id: randomUUID(), login, at, written: Date.now() })
  }

  /** The values of `Set-Cookie` that keep a session in use from ending; undefined while the old ones are new enough. */
  async renew(found: BrowserLogin): Promise<readonly string[] | undefined> {
    if (Date.now() - found.written < RENEWED) return undefined
    return this.write({ ...found, written: Date.now() })
  }

  /** No copy of the cookie opens anything from now on. */
  async end({ id }: BrowserLogin): Promise<void> {
    // Twice as long as a cookie: one may be written by a request under way, or by a clock that is ahead.
    await this.state.set(ENDED, id, {}, (2 * IDLE) / 1000)
  }

  remove(): readonly string[] {
    return this.cookie.remove()
  }

  private async write(found: BrowserLogin): Promise<readonly string[]> {
    return this.cookie.write(await this.seal.seal(PURPOSE, found, Date.now() + IDLE)) ?? []
  }
}
