import type { FastifyRequest } from 'fastify'
import {
  ClientRegistrar,
  ConfigError,
  Credential,
  definePlugin,
  type Gateway,
  Health,
  type Log,
  type RegisteredClient,
  StateStore,
  type TargetRefusal,
  UpstreamError,
} from 'sallyport'
import { messageOf, timed, within } from 'sallyport/toolkit'
import { CallbackListener } from './oauth/callback-listener.js'
import { readChallenges } from './oauth/challenge.js'
import { openEgress } from './oauth/egress.js'
import { Login } from './oauth/login.js'
import { OAuthOptions } from './oauth/options.js'
import type { Terminal } from './oauth/prompt.js'
import { type LatestSession, SessionStore } from './oauth/session.js'
import { TokenEndpoint } from './oauth/token-endpoint.js'
import { TokenManager } from './oauth/token-manager.js'

/** The plugin for a user at this terminal. */
export const oauthAt = (terminal: Terminal) =>
  definePlugin({
    name: 'credential/oauth',
    api: 1,
    summary: 'Signs in to the target with OAuth, stores the session, and sends its token with every request.',
    provides: [Credential, Health],
    requires: [StateStore, ClientRegistrar],
    options: OAuthOptions,

    setup(gateway, options) {
      const manager = openTokenManager(gateway, options, terminal)
      gateway.onStart(async () => {
        const resumed = await resume(manager, gateway.log)
        if (resumed === false && options.login === 'start') await requireCallbackPort(options)
      })
      gateway.onReady(() => {
        // In the background: requests wait for the token, and a failure is logged.
        if (options.login === 'start' && manager.current === undefined) manager.obtain().catch(() => {})
      })
      // A login in progress holds the callback port, which the next list needs.
      gateway.onReplaced(() => manager.stop())
      gateway.onStop(() => manager.stop())
      gateway.provide(Credential, new OAuthCredential(manager, options))
      gateway.provide(Health, { name: gateway.id, check: () => manager.health() })
    },

    async examine(examination, options) {
      const { examineLogin } = await import('./oauth/examine.js')
      await examineLogin(examination, options)
    },

    facts: (_place, { grant, issuer, tokenUrl }) =>
      // With a configured server the gateway does not look for one in the target's metadata.
      issuer !== undefined || tokenUrl !== undefined
        ? { hasCredential: true }
        : { signsIn: { redirects: grant === 'authorization_code' } },
  })

export default oauthAt(process)

function openTokenManager(gateway: Gateway, options: OAuthOptions, terminal: Terminal): TokenManager {
  const { log, scrubber, id: plugin } = gateway
  const loginNeeded = gateway.meter.gauge(
    'login_needed',
    'Whether a login to the target is needed and has not succeeded yet',
    ['plugin'],
  )
  const fetch = openEgress(gateway, options)
  const registrars = gateway.use(ClientRegistrar)
  const sessions = new SessionStore(options, gateway.use(StateStore), log)
  const latest = gateway.share(sessions.key, (): LatestSession => ({ session: undefined }))
  return new TokenManager({
    options,
    log,
    scrubber,
    loginNeeded: (needed) => loginNeeded(Number(needed), { plugin }),
    sessions,
    latest,
    login: new Login({ terminal, options, fetch, log, scrubber, registrars }),
    endpointOf: async ({ server, client: stored, resource }) => {
      const client = await currentClient(registrars(), stored)
      return new TokenEndpoint({ server, client, resource }, fetch)
    },
  })
}

/**
 * The client with its current secret: a refresh with a secret that was replaced since the login would end the session.
 */
async function currentClient(
  registrars: readonly ClientRegistrar[],
  stored: RegisteredClient,
): Promise<RegisteredClient> {
  for (const registrar of registrars) {
    const current = await registrar.current?.(stored)
    if (current !== undefined) return current
  }
  return stored
}

// A third of the time limit of a start.
const RESUME_LIMIT = 10_000

/** Whether there is a stored session; `undefined` when the store is away, or waits too long for another process. */
async function resume(manager: TokenManager, log: Log): Promise<boolean | undefined> {
  const resuming = manager.resume()
  const late = new Error('the store is slow')
  try {
    return await within(RESUME_LIMIT, resuming, () => late)
  } catch (error) {
    if (error !== late && !(error instanceof UpstreamError)) throw error
    resuming.catch((err: unknown) => log.error({ err }, 'the stored session could not be read'))
    return undefined
  }
}

/** A fixed callback port that is in use fails the start, instead of the first login. */
async function requireCallbackPort({ grant, callbackPort, callbackPortFixed }: OAuthOptions): Promise<void> {
  if (grant !== 'authorization_code' || !callbackPortFixed) return
  try {
    await CallbackListener.requireFreePort(callbackPort)
  } catch (cause) {
    throw new ConfigError([{ place: 'callbackPort', message: messageOf(cause) }], { cause })
  }
}

/** The attempts of one request. */
interface RequestHistory {
  token: string | undefined
  refreshed: boolean
  loggedIn: boolean
}

// With the login before the request, three attempts (MCP).
const MAX_SCOPE_LOGINS = 2

class OAuthCredential implements Credential {
  readonly name = 'oauth'
  readonly deadline: number
  private readonly histories = new WeakMap<FastifyRequest, RequestHistory>()

  constructor(
    private readonly manager: TokenManager,
    private readonly options: OAuthOptions,
  ) {
    // Longer than the time limit of a login: the error of the login says more than that of the deadline.
    this.deadline = options.timeout + 10_000
  }

  present(request: FastifyRequest) {
    const credential = this.manager.current
    if (credential !== undefined) {
      this.record(request, credential.accessToken)
      return credential
    }
    if (this.options.login === 'demand' && !this.manager.hasSession) return undefined
    return timed(request, 'login', () => this.waitForToken(request))
  }

  async renew(request: FastifyRequest, { status, challenges, attempt }: TargetRefusal): Promise<boolean> {
    const { manager } = this
    const challenge = await readChallenges(challenges)
    // A 401 of a path with an access control of its own, such as Basic, is not about the token.
    if (status === 401 && challenge.foreign) return false
    const history = this.histories.get(request) ?? this.record(request, undefined)
    const { token } = history
    const lacksScope = status === 403 && challenge.error === 'insufficient_scope'
    if (lacksScope && attempt > MAX_SCOPE_LOGINS) return false
    if (status === 403 && !lacksScope && (token !== undefined || !challenge.bearer)) return false
    // Another request has replaced the token since.
    if (manager.current !== undefined && manager.current.accessToken !== token) return true

    if (status === 401) {
      if (history.loggedIn) return false
      // A token that expired on its way to the target does not show that the session has ended, however often it
      // happens.
      const expired = manager.current === undefined
      if (token !== undefined && manager.mayRefresh && (expired || !history.refreshed)) {
        history.refreshed = true
        const { logins } = manager
        await timed(request, 'login', () => manager.replace(token, challenge))
        history.loggedIn = manager.logins > logins
        return true
      }
      history.loggedIn = true
    }
    await timed(request, 'login', () => manager.logInAgain(token, challenge))
    return true
  }

  private async waitForToken(request: FastifyRequest) {
    const credential = await this.manager.obtain()
    this.record(request, credential.accessToken)
    return credential
  }

  private record(request: FastifyRequest, token: string | undefined): RequestHistory {
    const history = this.histories.get(request) ?? { token, refreshed: false, loggedIn: false }
    history.token = token
    this.histories.set(request, history)
    return history
  }
}
