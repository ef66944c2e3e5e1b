import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from 'oauth4webapi'
import { type Scrubber, UpstreamError } from 'sallyport'
import { messageOf, plainCode, plainText } from 'sallyport/toolkit'
import { browserUrl, openBrowser } from './browser.js'
import type { CallbackListener, CallbackResult } from './callback-listener.js'
import type { OAuthOptions } from './options.js'
import { promptUser, readPastedLines, type Terminal } from './prompt.js'
import type { GrantContext, TokenEndpoint, Tokens } from './token-endpoint.js'

interface Flow {
  readonly terminal: Terminal
  readonly context: GrantContext
  readonly endpoint: TokenEndpoint
  readonly listener: CallbackListener
  readonly scopes: readonly string[]
  readonly options: OAuthOptions
  readonly scrubber: Scrubber
  readonly signal: AbortSignal
  readonly onPage: (url: string) => Promise<void>
  /** Whether another flow comes after one that failed so. */
  readonly isTriedAgain: (failure: UpstreamError) => boolean
}

/** A login by browser: the authorization code grant with PKCE. */
export async function codeFlow(flow: Flow): Promise<Tokens> {
  const { terminal, listener, signal, options, scrubber } = flow
  const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()]
  const callback = listener.waitForCallback(state)
  const url = await authorizationUrl(flow, state, verifier)
  // A page that nobody waits for any more would lead nowhere.
  signal.throwIfAborted()
  await flow.onPage(url.href)
  const stopReading = readPastedLines(terminal, (line) => listener.paste(line))
  try {
    const opened = listener.redirectKept(url) || (options.openBrowser && (await openBrowser(url, scrubber)))
    // A tab may be closed, and callers are not told the page.
    promptUser(
      terminal,
      `${opened ? 'A browser was opened to sign in at' : 'Open this URL to sign in:'} ${url.href}`,
    )
    const arrival = await orAborted(callback, signal)
    return await redeemCode(flow, arrival, state, verifier)
  } finally {
    stopReading()
  }
}

async function authorizationUrl(flow: Flow, state: string, verifier: string): Promise<URL> {
  const { context, listener, scopes, options } = flow
  const { server, client, resource } = context
  const url = browserUrl(server.authorization_endpoint, server.issuer)
  const parameters: Record<string, string> = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: listener.redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(resource !== undefined && { resource }),
    ...(scopes.length > 0 && { [options.scopeParameter]: scopes.join(' ') }),
    // OpenID Connect, 11: without it an issuer ignores the request for a refresh token.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}

/**
 * The issuer is compared before any other parameter is used, also those of an error (RFC 9207, 2.4). By oauth4webapi:
 * openid-client does this and the token request in one step, and judges the ID token, whose issuer may be another.
 */
async function redeemCode(
  flow: Flow,
  arrival: CallbackResult,
  state: string,
  verifier: string,
): Promise<Tokens> {
  const { context, endpoint, listener, options, signal } = flow
  const { server, client } = context
  const { parameters, showPage } = arrival
  try {
    const checked = validateAuthResponse(server, { client_id: client.clientId }, parameters, state)
    const tokens = await endpoint.authorizationCode(checked, listener.redirectUri, verifier, signal)
    showPage('You are signed in', 'You can close this window and go back to what you were doing.')
    return tokens
  } catch (error) {
    const isUnknown = options.issuer === undefined && options.tokenUrl !== undefined && parameters.has('iss')
    const failure = loginError(error, server.issuer, isUnknown)
    const text = error instanceof AuthorizationResponseError ? errorText(error) : failure.message
    if (flow.isTriedAgain(failure)) listener.keep(arrival)
    else
      showPage('Signing in failed', `The response was: ${text}`, 'You can close this window and try again.')
    throw failure
  }
}

function loginError(error: unknown, issuer: string, isUnknown: boolean): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (error instanceof AuthorizationResponseError) {
    const message = `the issuer ${issuer} refused the login: ${plainCode(error.error)}`
    const cause = new Error(errorText(error))
    const code = error.error === 'invalid_scope' ? 'OAUTH_INVALID_SCOPE' : 'LOGIN_REFUSED'
    return new UpstreamError(code, message, { statusCode: 503, retryAfter: 5, cause })
  }
  // Without the parameters: they may be those of another issuer.
  const detail = { statusCode: 503, retryAfter: 5, cause: new Error(messageOf(error)) } as const
  if (isUnknown) {
    const message = 'the authorization response names an issuer, and two URLs are configured in place of one'
    return new UpstreamError('LOGIN_ISSUER_UNKNOWN', message, detail)
  }
  const message = 'the authorization response is not from the issuer of this login'
  return new UpstreamError('LOGIN_MIXED_UP', message, detail)
}

const errorText = ({ error, error_description: description }: AuthorizationResponseError): string =>
  plainText(description === undefined || description === '' ? error : `${error}, ${description}`)

/** Rejects with the reason of the signal when that is aborted first. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
