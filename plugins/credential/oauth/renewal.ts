import { type Log, UpstreamError } from 'sallyport'
import type { Login } from './login.js'
import type { Session, SessionShelf } from './session.js'
import type { TokenEndpoint } from './token-endpoint.js'

interface Surroundings {
  readonly shelf: SessionShelf
  readonly login: Login
  readonly endpointOf: (session: Session) => TokenEndpoint
  readonly log: Log
}

interface Renewed {
  readonly session: Session
  /** `false` when only a login helps. */
  readonly lasts: boolean
}

/** What the issuer says when only another login helps. */
const ENDED = new Set(['OAUTH_INVALID_GRANT', 'OAUTH_INVALID_CLIENT', 'OAUTH_UNAUTHORIZED_CLIENT'])

/**
 * One refresh under the lock of the login. Many issuers take a refresh token once, so what it gave is lost when this
 * process ends before it is kept: that it was begun is kept before, and who comes next tries the same token at once,
 * while the issuer may still give the answer again.
 */
export class Renewal {
  constructor(private readonly surroundings: Surroundings) {}

  /** Throws when it failed on the way, which leaves everything as it was. */
  async run(session: Session): Promise<Renewed> {
    const { shelf, endpointOf } = this.surroundings
    const { refreshToken = '', idToken } = session.tokens
    const wasCutOff = (await shelf.read())?.renewing !== undefined
    // Where this cannot be kept the answer cannot either, which is said then.
    await shelf.write({ ...session, renewing: Date.now() }).catch(() => {})
    const { renewing: _, ...rest } = session
    try {
      const tokens = await endpointOf(session).refresh(refreshToken)
      const merged = { refreshToken, ...(idToken !== undefined && { idToken }), ...tokens }
      return { session: { ...rest, tokens: merged, obtainedAt: Date.now() }, lasts: true }
    } catch (error) {
      const code = error instanceof UpstreamError ? error.code : ''
      if (!ENDED.has(code)) throw error
      const { refreshToken: _ended, ...tokens } = session.tokens
      await this.ended(session, code, wasCutOff)
      return { session: { ...rest, tokens }, lasts: false }
    }
  }

  private async ended({ server, client }: Session, code: string, wasCutOff: boolean): Promise<void> {
    const { log, login } = this.surroundings
    const { issuer } = server
    if (code !== 'OAUTH_INVALID_GRANT') await login.forget(client)
    if (wasCutOff && code === 'OAUTH_INVALID_GRANT') {
      log.warn(
        { issuer, code },
        'the token before was renewed, but that was cut off before it was kept, and the issuer gives it once; a new login is needed',
      )
    } else log.info({ issuer, code }, 'the login has ended; a new one is needed')
  }
}
