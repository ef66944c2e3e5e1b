import type { FastifyRequest } from 'fastify'
import { digestOf, ExpiringMap } from 'sallyport/toolkit'
import { z } from 'zod'
import { ChunkedCookie } from './cookies.js'
import type { Seal } from './seal.js'

const pending = z.object({
  state: z.string(),
  checks: z.string(),
  returnTo: z.string(),
  until: z.number(),
})
const list = z.array(pending)

export type Pending = z.output<typeof pending>

const PURPOSE = 'pending'
const LIFETIME = 600_000
// The most pending sign-ins of a browser: people open several pages at once.
const MOST = 3

/**
 * Sign-ins that began in a browser, in a sealed cookie of that browser: another replica with the same key can finish
 * one, and a callback that an attacker opens in another browser finds none there.
 */
export class PendingSignIns {
  private readonly cookie: ChunkedCookie
  private readonly used = new ExpiringMap<true>(10_000)

  constructor(
    private readonly seal: Seal,
    secure: boolean,
  ) {
    this.cookie = new ChunkedCookie(seal.cookieName('sign-in'), secure, 2)
  }

  /** The values of `Set-Cookie` at the start of a sign-in. */
  async add(request: FastifyRequest, begun: Omit<Pending, 'until'>): Promise<readonly string[]> {
    const open = await this.read(request)
    return this.write([...open, { ...begun, until: Date.now() + LIFETIME }].slice(-MOST))
  }

  /**
   * Returns the sign-in with this `state`, only once, and the values of `Set-Cookie` without it. Otherwise a copy of
   * the cookie could send requests to the issuer again and again.
   */
  async take(
    request: FastifyRequest,
    state: unknown,
  ): Promise<{ readonly begun: Pending | undefined; readonly cookies: readonly string[] }> {
    const open = await this.read(request)
    const found = open.find((each) => each.state === state)
    return {
      begun: found && this.firstUse(found),
      cookies: await this.write(open.filter((each) => each !== found)),
    }
  }

  private firstUse(begun: Pending): Pending | undefined {
    const key = digestOf(begun.state)
    if (this.used.get(key) === true) return undefined
    this.used.set(key, true, begun.until)
    return begun
  }

  private async read({ headers }: FastifyRequest): Promise<readonly Pending[]> {
    const sealed = this.cookie.read(headers.cookie)
    const open = sealed === undefined ? undefined : await this.seal.open(PURPOSE, sealed, list)
    return (open ?? []).filter(({ until }) => until > Date.now())
  }

  private async write(open: readonly Pending[]): Promise<readonly string[]> {
    if (open.length === 0) return this.cookie.remove()
    const sealed = await this.seal.seal(PURPOSE, open, Date.now() + LIFETIME)
    return this.cookie.write(sealed, LIFETIME / 1000) ?? this.write(open.slice(1))
  }
}
