import {
  Authenticator,
  BrowserSession,
  CallerTokens,
  ConfigError,
  definePlugin,
  type Gateway,
  LoginProvider,
  ResourceMetadata,
  Revocation,
  StateStore,
} from 'sallyport'
import {
  createFetcher,
  insecureHttpAllowed,
  LogThrottle,
  Secret,
  secretFrom,
  waitAtMost,
} from 'sallyport/toolkit'
import { openFixedVerifier } from '#plugins/auth/provider/fixed-keys.js'
import { PendingSignIns } from '#plugins/login/browser/pending.js'
import { Seal } from '#plugins/login/browser/seal.js'
import { withOption } from '#plugins/login/flow/client.js'
import { Bounds, OpenSignIns } from './broker/bounds.js'
import { BrowserLogins } from './broker/browser.js'
import { BrowserBinding } from './broker/browser-binding.js'
import { SignedInTokens } from './broker/caller-tokens.js'
import { Clients, type GivenClient } from './broker/clients.js'
import { Consents } from './broker/consents.js'
import { Endpoints } from './broker/endpoints.js'
import { INTERACTION_SECONDS, openEngine } from './broker/engine.js'
import { readKeyFiles } from './broker/key-file.js'
import { BrokerKeys } from './broker/keys.js'
import { Logins } from './broker/logins.js'
import { BrokerOptions, type ClientSettings } from './broker/options.js'
import { PageSessions } from './broker/page-session.js'
import { Revocations } from './broker/revocations.js'
import { LoginRevocation } from './broker/revoking.js'
import { callbackUrl, SignInRoutes } from './broker/sign-in.js'
import { SealedState } from './broker/values.js'
import { withConsoleLogged } from './console.js'

// Until it is known what is revoked, calls get 503.
const FIRST_READ = 10_000

export default definePlugin({
  name: 'issuer/broker',
  api: 1,
  summary:
    'An authorization server for MCP clients: they register here, and people sign in at the provider of a login.',
  provides: [Authenticator, BrowserSession, CallerTokens, ResourceMetadata, Revocation],
  requires: [LoginProvider, StateStore],
  options: BrokerOptions,

  async setup(gateway, options) {
    const { log } = gateway
    const issuer = new URL(options.resourceUrl).origin + gateway.scope
    const secure = new URL(issuer).protocol === 'https:'
    const keys = new BrokerKeys(readKeyFiles(gateway, options.keyFile))
    const provider = gateway.use(LoginProvider)
    const state = new SealedState(gateway.use(StateStore), keys, issuer)
    const clients = new Clients(options.clients, openGiven(gateway, options.clients), keys)
    const { require } = options
    const lifetime = options.refreshToken / 1000
    const { staleFor } = options
    const alive = lifetime + options.accessToken / 1000
    const revocations = new Revocations({ state, issuer, staleFor, lifetime: alive, log })
    const isRevoked: Revocations['concerns'] = (login) => revocations.concerns(login)
    const logins = new Logins({ state, provider, require, lifetime, isRevoked, log })
    const fetch = openDocuments(gateway, options.clients)
    const engine = await withConsoleLogged(gateway, async () =>
      openEngine({
        engine: await import('oidc-provider'),
        issuer,
        options,
        keys,
        state,
        clients,
        logins,
        fetch,
        secure,
      }),
    )
    engine.on('server_error', (_context: unknown, error: unknown) =>
      log.error({ err: error }, 'the broker failed'),
    )

    const throttle = new LogThrottle(log)
    gateway.onStop(() => throttle.flush())
    const seal = new Seal(new Secret(keys.cookies[0] ?? ''), issuer)
    const open = new OpenSignIns(INTERACTION_SECONDS * 1000, (uid) => {
      state
        .delete('Interaction', uid)
        .catch((cause: unknown) => log.warn({ err: cause }, 'a sign-in cannot be deleted'))
    })
    const { scopes } = options
    const bounds = new Bounds()
    const binding = new BrowserBinding(issuer, keys, secure, seal.cookieName('browser'))
    const endpoints = new Endpoints({
      issuer,
      engine,
      clients,
      scopes,
      state,
      bounds,
      open,
      binding,
      log,
    })
    endpoints.installMetadata(gateway.root)
    await endpoints.install(gateway.http)
    const browsers = new BrowserLogins(seal, state, secure)
    await new SignInRoutes({
      gateway,
      issuer,
      options,
      engine,
      provider,
      keys,
      logins,
      binding,
      browsers,
      pending: new PendingSignIns(seal, secure),
      consents: new Consents(state),
      bounds,
      throttle,
    }).install(gateway.http)

    const { scope } = gateway
    const sessions = new PageSessions({ issuer, scope, options, keys, logins, browsers })
    gateway.http.addHook('onSend', (request, reply, payload, done) => {
      const changed = sessions.changed(request)
      if (changed !== undefined) reply.header('set-cookie', changed)
      // A stored page would be shown to somebody who goes back after signing out.
      if (sessions.person(request) !== undefined) reply.header('cache-control', 'no-store')
      done(null, payload)
    })
    gateway.provide(BrowserSession, sessions)

    const authenticators = gateway.use(Authenticator)
    gateway.onStart(() => {
      refuseOpenProvider(provider(), options)
      refuseOpenGate(authenticators())
    })
    const redirectUri = callbackUrl(issuer)
    gateway.onReady(() => waitAtMost(FIRST_READ, revocations.follow()))
    gateway.onStop(() => revocations.stop())
    gateway.provide(Revocation, new LoginRevocation({ revocations, logins, provider, log }))
    gateway.onReady(() => log.info({ redirectUri }, 'the identity provider has to know this redirect URI'))
    gateway.provide(ResourceMetadata, { authorization_servers: [issuer] })
    const tokens = new SignedInTokens({ issuer, logins, provider })
    gateway.provide(CallerTokens, (caller, name, wanted) => tokens.for(caller, name, wanted))
    gateway.provide(
      Authenticator,
      openFixedVerifier(gateway, {
        name: 'broker',
        issuer,
        audience: options.resourceUrl,
        keys: keys.verifying,
        // No other server accepts it, so it is never exchanged: what the provider gave is.
        withoutToken: true,
      }),
    )
  },

  examine({ ok, scope }, { resourceUrl }) {
    const uri = callbackUrl(new URL(resourceUrl).origin + scope)
    ok('redirect URI', `${uri} has to be registered at the identity provider for the client of the gateway`)
  },
})

/** Without `require` a provider with public accounts would admit everybody in the world. */
function refuseOpenProvider(
  { accountsOf, requiredClaim, name }: LoginProvider,
  { require }: BrokerOptions,
): void {
  const named = typeof require === 'object' ? require : {}
  if (requiredClaim !== undefined && !Object.hasOwn(named, requiredClaim)) {
    const message = `expected the claim ${requiredClaim} with the tenants that may sign in: ${name} has the accounts of all tenants, and each tenant sets the other claims of its people`
    throw new ConfigError([{ place: 'require', message }])
  }
  if (accountsOf !== 'everybody' || require !== undefined) return
  const message = `missing: everybody in the world can have an account at ${name}; name who may sign in, such as { hd: example.com }, or write \`anyone\` if all of them may`
  throw new ConfigError([{ place: 'require', message }])
}

function refuseOpenGate(authenticators: readonly Authenticator[]): void {
  if (!authenticators.some(({ open }) => open === true)) return
  const message =
    'excludes auth/anonymous, which lets everybody in without a sign-in: take one of the two out'
  throw new ConfigError([{ place: '', message }])
}

function openGiven(gateway: Gateway, { given }: ClientSettings): readonly GivenClient[] {
  const { log, scrubber } = gateway
  return given.map((client, index) => {
    const secret = withOption(`clients.given[${index}].clientSecretFile`, () =>
      secretFrom({ file: gateway.path(client.clientSecretFile) }, { log, scrubber }),
    )
    gateway.onStop(() => secret?.close())
    return { ...client, secret: secret?.reveal() }
  })
}

/** The fetcher for metadata documents and the keys of clients. */
function openDocuments(gateway: Gateway, { allowPrivateIP, caCertPath }: ClientSettings) {
  const { log, scrubber } = gateway
  const fetcher = withOption('clients.caCertPath', () =>
    createFetcher({
      caFile: gateway.path(caCertPath),
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
      maxBytes: 64 * 1024,
      scrubber,
      log,
    }),
  )
  gateway.onStop(() => fetcher.close())
  return fetcher.fetch
}
