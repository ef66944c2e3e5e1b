import type { FastifyRequest } from 'fastify'
import {
  ClientRegistrar,
  ConfigError,
  Credential,
  definePlugin,
  type Gateway,
  Health,
  StateStore,
  type TargetRefusal,
} from 'sallyport'
import { CallbackListener } from './oauth/callback-listener.js'
import { readChallenges } from './oauth/challenge.js'
import { openWays } from './oauth/egress.js'
import { Keeper } from './oauth/keeper.js'
import { Login } from './oauth/login.js'
import { OAuthOptions } from './oauth/options.js'
import { SessionShelf } from './oauth/session.js'
import { TokenEndpoint } from './oauth/token-endpoint.js'

export default definePlugin({
  name: 'credential/oauth',
  api: 1,
  summary: 'Signs in to the target with OAuth, keeps the login, and sends its token with every request.',
  provides: [Credential, Health],
  requires: [StateStore, ClientRegistrar],
  options: OAuthOptions,

  setup(gateway, options) {
    const keeper = openKeeper(gateway, options)
    gateway.onStart(async () => {
      const resumed = await keeper.resume()
      if (!resumed && options.login === 'start') await requirePort(options)
    })
    gateway.onReady(() => {
      // In the background: whoever needs the token waits for it, and a failure is in the log.
      if (options.login === 'start' && keeper.current === undefined) keeper.fresh().catch(() => {})
    })
    gateway.onStop(() => keeper.stop())
    gateway.provide(Credential, new OAuthCredential(keeper, options))
    gateway.provide(Health, { name: gateway.id, check: () => keeper.health() })
  },
})

function openKeeper(gateway: Gateway, options: OAuthOptions): Keeper {
  const { log, scrubber } = gateway
  const fetch = openWays(gateway, options)
  return new Keeper({
    options,
    log,
    scrubber,
    shelf: new SessionShelf(options, gateway.use(StateStore), log),
    login: new Login({ options, fetch, log, registrars: gateway.use(ClientRegistrar) }),
    endpointOf: ({ server, client, resource }) => new TokenEndpoint({ server, client, resource }, fetch),
  })
}

/** A port that is taken is told at the start, where somebody reads it, when a login is due there. */
async function requirePort({ grant, callbackPort, callbackPortFixed }: OAuthOptions): Promise<void> {
  if (grant !== 'authorization_code' || !callbackPortFixed) return
  try {
    await CallbackListener.tried(callbackPort)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'cannot be used'
    throw new ConfigError([{ place: 'callbackPort', message }], { cause })
  }
}

/** What a request has been through. */
interface Trail {
  token: string | undefined
  refreshed: boolean
  loggedIn: boolean
}

// The login before the request was the first attempt, and three are enough (MCP).
const MORE_SCOPES = 2

class OAuthCredential implements Credential {
  readonly name = 'oauth'
  readonly deadline: number
  private readonly trails = new WeakMap<FastifyRequest, Trail>()

  constructor(
    private readonly keeper: Keeper,
    private readonly options: OAuthOptions,
  ) {
    // The login has its own limit and says more when it passes it.
    this.deadline = options.timeout + 10_000
  }

  present(request: FastifyRequest) {
    const held = this.keeper.current
    if (held !== undefined) {
      this.note(request, held.accessToken)
      return held
    }
    if (this.options.login === 'demand' && !this.keeper.hasSession) return undefined
    return this.waited(request)
  }

  async renew(request: FastifyRequest, { status, challenges, attempt }: TargetRefusal): Promise<boolean> {
    const { keeper } = this
    const challenge = await readChallenges(challenges)
    const trail = this.trails.get(request) ?? this.note(request, undefined)
    const { token } = trail
    const lacksScope = status === 403 && challenge.error === 'insufficient_scope'
    if (lacksScope && attempt > MORE_SCOPES) return false
    if (status === 403 && !lacksScope && (token !== undefined || !challenge.bearer)) return false
    // Somebody else was refused too, and has got another by now.
    if (keeper.current !== undefined && keeper.current.accessToken !== token) return true

    if (status === 401) {
      if (trail.loggedIn) return false
      // A token that has ended on its way there says nothing about the login, however often that happens.
      const ended = keeper.current === undefined
      if (token !== undefined && keeper.mayRefresh && (ended || !trail.refreshed)) {
        trail.refreshed = true
        const { logins } = keeper
        await keeper.replace(token, challenge)
        trail.loggedIn = keeper.logins > logins
        return true
      }
      trail.loggedIn = true
    }
    await keeper.again(token, challenge)
    return true
  }

  private async waited(request: FastifyRequest) {
    const held = await this.keeper.fresh()
    this.note(request, held.accessToken)
    return held
  }

  private note(request: FastifyRequest, token: string | undefined): Trail {
    const trail = this.trails.get(request) ?? { token, refreshed: false, loggedIn: false }
    trail.token = token
    this.trails.set(request, trail)
    return trail
  }
}
