import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ChunkedCookie } from '#plugins/login/browser/cookies.js'
import type { Seal } from '#plugins/login/browser/seal.js'

const session = z.object({ login: z.string(), at: z.number() })

/** That a browser signed in: by which sign-in, and when. */
export type BrowserLogin = z.output<typeof session>

const PURPOSE = 'broker'
const IDLE = 600_000

/** Remembers for some minutes that a browser signed in, so that a second client needs only a consent. */
export class BrowserLogins {
  private readonly cookie: ChunkedCookie

  constructor(
    private readonly seal: Seal,
    secure: boolean,
  ) {
    this.cookie = new ChunkedCookie(seal.cookieName(PURPOSE), secure, 1)
  }

  async read({ headers }: FastifyRequest): Promise<BrowserLogin | undefined> {
    const sealed = this.cookie.read(headers.cookie)
    return sealed === undefined ? undefined : this.seal.open(PURPOSE, sealed, session)
  }

  /** The values of `Set-Cookie`. */
  async write(login: BrowserLogin): Promise<readonly string[]> {
    return this.cookie.write(await this.seal.seal(PURPOSE, login, Date.now() + IDLE)) ?? []
  }
}
