import {
  Authenticator,
  BrowserSession,
  definePlugin,
  type Gateway,
  IssuerMetadata,
  StateStore,
} from 'sallyport'
import { LogThrottle } from 'sallyport/toolkit'
import { PendingSignIns } from '#plugins/login/browser/pending.js'
import { cookieKey, Seal } from '#plugins/login/browser/seal.js'
import { checkFiles, openClient, withOption } from '#plugins/login/flow/client.js'
import { CodeFlow, discovered } from '#plugins/login/flow/code-flow.js'
import { redirectUri, SignInOptions } from './sign-in/options.js'
import { SignInRoutes } from './sign-in/routes.js'
import { EndedSessions, endedHere, openRenewals, Sessions } from './sign-in/sessions.js'

export default definePlugin({
  name: 'pages/sign-in',
  api: 1,
  summary: 'Signs people in to the pages at an OpenID Connect issuer, with a session in a sealed cookie.',
  provides: [BrowserSession],
  requires: [IssuerMetadata, Authenticator],
  options: SignInOptions,

  setup(gateway, options) {
    const { cookieKeyFile, clientSecretFile, caCertPath } = options
    checkFiles(gateway, { cookieKeyFile, clientSecretFile, caCertPath })
    const { issuerUrl, clientId, resourceUrl } = options
    const owner = `${clientId} ${issuerUrl} ${redirectUri(options, gateway.scope)}`
    const key = withOption('cookieKeyFile', () => cookieKey(gateway, cookieKeyFile))
    const seal = new Seal(key, owner)
    gateway.onStop(() => seal.close())
    const flow = openFlow(gateway, options)
    const secure = new URL(resourceUrl).protocol === 'https:'
    const { scope, log } = gateway
    const throttle = new LogThrottle(log)
    gateway.onStop(() => throttle.flush())
    // Shared over a reload: without it, the next list would use refresh tokens twice.
    const renewals = gateway.share('renewals', openRenewals)
    const here = gateway.share('ended sessions', endedHere)
    const ended = new EndedSessions({ here, store: gateway.find(StateStore), log, throttle })
    const sessions = new Sessions({ renewals, ended, flow, issuerUrl, seal, secure, scope, log, throttle })
    const pending = new PendingSignIns(seal, secure)
    new SignInRoutes({ gateway, options, flow, sessions, pending, throttle }).install()
    gateway.http.addHook('onSend', (request, reply, payload, done) => {
      const changed = sessions.changed(request)
      if (changed !== undefined) reply.header('set-cookie', changed)
      // A browser would show a stored page again to a person who goes back after signing out.
      if (sessions.person(request) !== undefined) reply.header('cache-control', 'no-store')
      done(null, payload)
    })
    gateway.provide(BrowserSession, sessions)
  },

  async examine(examination, options) {
    const { examineIssuer } = await import('#plugins/login/flow/examine.js')
    const uri = redirectUri(options, examination.scope)
    examination.ok(
      'redirect URI',
      `${uri} has to be registered at the issuer for the client ${options.clientId}`,
    )
    await examineIssuer(examination, options)
  },
})

function openFlow(gateway: Gateway, options: SignInOptions): CodeFlow {
  const { issuerUrl, clientId, scopes, resource, resourceUrl } = options
  const { fetch, secret } = openClient(gateway, options)
  const plugins = gateway.use(IssuerMetadata)
  return new CodeFlow({
    provider: issuerUrl,
    clientId,
    scopes,
    resource: resource === '' ? undefined : (resource ?? resourceUrl),
    fetch,
    secret,
    metadata: () => discovered(issuerUrl, fetch, plugins()),
  })
}
