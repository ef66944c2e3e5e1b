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
  /** Whether a second flow follows one with this failure. */
  readonly willRetry: (failure: UpstreamError) => boolean
}

/** A login by browser: the authorization code grant with PKCE. */
export async function codeFlow(flow: Flow): Promise<Tokens> {
  const { terminal, listener, signal, options, scrubber } = flow
  const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()]
  const callback = listener.waitForCallback(state)
  const url = await authorizationUrl(flow, state, verifier)
  // After an abort no request waits for the sign-in, so no page opens.
  signal.throwIfAborted()
  await flow.onPage(url.href)
  const stopReading = readPastedLines(terminal, (line) => listener.paste(line))
  try {
    const opened =
      listener.redirectWaiting(url) || (options.openBrowser && (await openBrowser(url, scrubber)))
    // Also when a browser was opened: the user may close the tab, and callers do not see the URL.
    promptUser(
      terminal,
      `${opened ? 'A browser was opened to sign in at' : 'Open this URL to sign in:'} ${url.href}`,
    )
    const result = await orAborted(callback, signal)
    return await redeemCode(flow, result, state, verifier)
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
 * Compares the issuer before it uses any other parameter, also of an error (RFC 9207, 2.4). By oauth4webapi:
 * openid-client does this and the token request in one step, and verifies the ID token, whose issuer may be another.
 */
async function redeemCode(
  flow: Flow,
  result: CallbackResult,
  state: string,
  verifier: string,
): Promise<Tokens> {
  const { context, endpoint, listener, options, signal } = flow
  const { server, client } = context
  const { parameters, showPage } = result
  try {
    const checked = validateAuthResponse(server, { client_id: client.clientId }, parameters, state)
    const tokens = await endpoint.authorizationCode(checked, listener.redirectUri, verifier, signal)
    showPage('You are signed in', 'You can close this window and go back to what you were doing.')
    return tokens
  } catch (error) {
    const isUnknown = options.issuer === undefined && options.tokenUrl !== undefined && parameters.has('iss')
    const failure = loginError(error, server.issuer, isUnknown)
    const text = error instanceof AuthorizationResponseError ? errorText(error) : failure.message
    if (flow.willRetry(failure)) listener.keepWaiting(result)
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
  // Without the parameters of the response: they may come from another issuer.
  const detail = { statusCode: 503, retryAfter: 5, cause: new Error(messageOf(error)) } as const
  if (isUnknown) {
    const message =
      'the authorization response names an issuer, and none is configured beside the two URLs: set the issuer as well'
    return new UpstreamError('LOGIN_ISSUER_UNKNOWN', message, detail)
  }
  const message = 'the authorization response is not from the issuer of this login'
  return new UpstreamError('LOGIN_MIXED_UP', message, detail)
}

const errorText = ({ error, error_description: description }: AuthorizationResponseError): string =>
  plainText(description === undefined || description === '' ? error : `${error}, ${description}`)

/** Rejects with the reason of the signal when the signal aborts first. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
