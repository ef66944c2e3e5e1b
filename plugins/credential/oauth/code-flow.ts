import {
  AuthorizationResponseError,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  validateAuthResponse,
} from 'oauth4webapi'
import { UpstreamError } from 'sallyport'
import { browserUrl, openBrowser } from './browser.js'
import type { Arrival, CallbackListener } from './callback-listener.js'
import type { OAuthOptions } from './options.js'
import { pastedLines, tellPerson } from './person.js'
import { type Grantee, plain, printable, type TokenEndpoint, type Tokens } from './token-endpoint.js'

interface Flow {
  readonly grantee: Grantee
  readonly endpoint: TokenEndpoint
  readonly listener: CallbackListener
  readonly scopes: readonly string[]
  readonly options: OAuthOptions
  readonly signal: AbortSignal
}

/** One login by a browser: the authorization code grant with PKCE. It ends with tokens, an error, or its signal. */
export async function codeFlow(flow: Flow): Promise<Tokens> {
  const { listener, signal, options } = flow
  const [state, verifier] = [generateRandomState(), generateRandomCodeVerifier()]
  const arrived = listener.arrival(state)
  const url = await authorizationUrl(flow, state, verifier)
  const stopReading = pastedLines((line) => listener.paste(line))
  try {
    const opened = options.openBrowser && (await openBrowser(url))
    if (!opened) tellPerson(`Open this URL to sign in: ${url.href}`)
    const arrival = await unlessAborted(arrived, signal)
    return await finish(flow, arrival, state, verifier)
  } finally {
    stopReading()
  }
}

async function authorizationUrl(flow: Flow, state: string, verifier: string): Promise<URL> {
  const { grantee, listener, scopes, options } = flow
  const { server, client, resource } = grantee
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
    // OpenID Connect, 11: without it an issuer ignores the wish for a refresh token.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}

/** The issuer is compared before anything else is believed, also of an error (RFC 9207, 2.4). */
async function finish(flow: Flow, arrival: Arrival, state: string, verifier: string): Promise<Tokens> {
  const { grantee, endpoint, listener, signal } = flow
  const { server, client } = grantee
  const { parameters, tell } = arrival
  try {
    const checked = validateAuthResponse(server, { client_id: client.clientId }, parameters, state)
    const tokens = await endpoint.code(checked, listener.redirectUri, verifier, signal)
    tell('You are signed in', 'You can close this window and go back to what you were doing.')
    return tokens
  } catch (error) {
    const failure = failureOf(error, server.issuer)
    const said = error instanceof AuthorizationResponseError ? answerOf(error) : failure.message
    tell('Signing in did not work', `What came back: ${said}`, 'You can close this window and try again.')
    throw failure
  }
}

function failureOf(error: unknown, issuer: string): UpstreamError {
  if (error instanceof UpstreamError) return error
  if (error instanceof AuthorizationResponseError) {
    const message = `the issuer ${issuer} did not let the login happen: ${plain(error.error)}`
    const cause = new Error(answerOf(error))
    return new UpstreamError('LOGIN_REFUSED', message, { statusCode: 503, retryAfter: 5, cause })
  }
  // Without what came: it may have been written by another issuer.
  return new UpstreamError(
    'LOGIN_MIXED_UP',
    'the answer to the login is not that of the issuer that was asked',
    {
      statusCode: 503,
      retryAfter: 5,
      cause: new Error(error instanceof Error ? error.message : 'unknown'),
    },
  )
}

const answerOf = ({ error, error_description: description }: AuthorizationResponseError): string =>
  printable(description === undefined || description === '' ? error : `${error}, ${description}`)

/** What comes first: the answer, or the reason to stop waiting for it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
