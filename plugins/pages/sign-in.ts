import { readFileSync } from 'node:fs'
import {
  Authenticator,
  BrowserSession,
  ConfigError,
  definePlugin,
  type Gateway,
  IssuerMetadata,
  StateStore,
} from 'sallyport'
import {
  createFetcher,
  fileFailure,
  insecureHttpAllowed,
  LogThrottle,
  messageOf,
  type Secret,
  secretFrom,
} from 'sallyport/toolkit'
import { Issuer } from './sign-in/issuer.js'
import { redirectUri, SignInOptions } from './sign-in/options.js'
import { PendingSignIns } from './sign-in/pending.js'
import { SignInRoutes } from './sign-in/routes.js'
import { cookieKey, Seal } from './sign-in/seal.js'
import { EndedSessions, endedHere, openRenewals, Sessions } from './sign-in/sessions.js'

export default definePlugin({
  name: 'pages/sign-in',
  api: 1,
  summary: 'Signs people in to the pages at an OpenID Connect issuer, with a session in a sealed cookie.',
  provides: [BrowserSession],
  requires: [IssuerMetadata, Authenticator],
  options: SignInOptions,

  setup(gateway, options) {
    checkFiles(gateway, options)
    const { issuerUrl, clientId, resourceUrl } = options
    const owner = `${clientId} ${issuerUrl} ${redirectUri(options, gateway.scope)}`
    const key = withPlace('cookieKeyFile', () => cookieKey(gateway, options.cookieKeyFile))
    const seal = new Seal(key, owner)
    gateway.onStop(() => seal.close())
    const issuer = openIssuer(gateway, options)
    const secure = new URL(resourceUrl).protocol === 'https:'
    const { scope, log } = gateway
    const throttle = new LogThrottle(log)
    gateway.onStop(() => throttle.flush())
    // Shared over a reload: without it, the next list would use refresh tokens twice.
    const renewals = gateway.share('renewals', openRenewals)
    const here = gateway.share('ended sessions', endedHere)
    const ended = new EndedSessions({ here, store: gateway.find(StateStore), log, throttle })
    const sessions = new Sessions({ renewals, ended, issuer, issuerUrl, seal, secure, scope, log, throttle })
    const pending = new PendingSignIns(seal, secure)
    new SignInRoutes({ gateway, options, issuer, sessions, pending, throttle }).install()
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
    const { examineSignIn } = await import('./sign-in/examine.js')
    await examineSignIn(examination, options)
  },
})

/** Reports every file that cannot be read together, and stops the boot. */
function checkFiles(gateway: Gateway, options: SignInOptions): void {
  const problems = (['cookieKeyFile', 'clientSecretFile', 'caCertPath'] as const).flatMap((place) => {
    const path = gateway.path(options[place])
    try {
      if (path !== undefined) readFileSync(path)
      return []
    } catch (error) {
      return [{ place, message: `cannot read ${path}: ${fileFailure(error)}` }]
    }
  })
  if (problems.length > 0) throw new ConfigError(problems)
}

function openIssuer(gateway: Gateway, options: SignInOptions): Issuer {
  const { caCertPath, allowPrivateIP } = options
  const fetcher = withPlace('caCertPath', () =>
    createFetcher({
      caFile: gateway.path(caCertPath),
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
      scrubber: gateway.scrubber,
      log: gateway.log,
    }),
  )
  gateway.onStop(() => fetcher.close())
  const secret = withPlace('clientSecretFile', () => openSecret(gateway, options))
  gateway.onStop(() => secret?.close())
  return new Issuer({
    options,
    redirectUri: redirectUri(options, gateway.scope),
    fetch: fetcher.fetch,
    metadata: gateway.use(IssuerMetadata),
    secret,
  })
}

function openSecret(gateway: Gateway, { clientSecret, clientSecretFile }: SignInOptions): Secret | undefined {
  const { log, scrubber } = gateway
  return secretFrom({ value: clientSecret, file: gateway.path(clientSecretFile) }, { log, scrubber })
}

/** Adds the name of the option to an error that names a file. */
function withPlace<T>(place: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw new ConfigError([{ place, message: messageOf(error) }], { cause: error })
  }
}
