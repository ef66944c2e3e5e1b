import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ownCookie } from 'sallyport/toolkit'
import { ChunkedCookie } from '#plugins/login/browser/cookies.js'
import { consentPath, INTERACTION_SECONDS } from './engine.js'
import type { BrokerKeys } from './keys.js'

const PURPOSE = 'browser'

/**
 * Binds what a client asked for to the browser that brought it. The engine's cookies have the path of the consent, so
 * another host of the domain could set them in the browser of somebody else: this one has the prefix `__Host-`.
 */
export class BrowserBinding {
  private readonly browser: ChunkedCookie
  /** Beside each of the engine's, so that several sign-ins of a browser do not disturb each other. */
  private readonly proof = new ChunkedCookie(ownCookie('consent-browser'), false, 1)

  constructor(
    private readonly issuer: string,
    private readonly keys: BrokerKeys,
    private readonly secure: boolean,
    name: string,
  ) {
    this.browser = new ChunkedCookie(name, secure, 1)
  }

  /** The values of `Set-Cookie` that bind it. */
  cookies({ headers }: FastifyRequest, uid: string): string[] {
    const known = this.browser.read(headers.cookie)
    const id = known ?? randomUUID()
    const path = `Path=${consentPath(this.issuer, uid)}; Max-Age=${INTERACTION_SECONDS}`
    const proof = `${ownCookie('consent-browser')}=${this.keys.sign(PURPOSE, id, uid)}; ${path}; HttpOnly; SameSite=Lax${this.secure ? '; Secure' : ''}`
    return [...(known === undefined ? (this.browser.write(id) ?? []) : []), proof]
  }

  isOf({ headers }: FastifyRequest, uid: string): boolean {
    const id = this.browser.read(headers.cookie)
    const proof = this.proof.read(headers.cookie)
    return id !== undefined && proof !== undefined && this.keys.hasSigned(proof, PURPOSE, id, uid)
  }
}
