import type { DocumentResponse, Examination, Fetch } from 'sallyport'
import {
  basicAuthorization,
  createFetcher,
  insecureHttpAllowed,
  messageOf,
  secretFrom,
} from 'sallyport/toolkit'
import { ACCEPT_KEYS } from './jwks-source.js'
import type { CommonOptions, IntrospectionOptions, KeyOptions } from './options.js'

/** The options for requests to a provider, of any of the plugins. */
export type ExaminedProvider = Partial<CommonOptions & KeyOptions & IntrospectionOptions>

/** Sends a provider all requests that the verification of its tokens needs. */
export async function examineProvider(examination: Examination, provider: ExaminedProvider): Promise<void> {
  const { path, probes } = examination
  const { caCertPath, authTokenFile, allowPrivateIP = false, jwksUrl, introspectionUrl, issuerUrl } = provider
  const urls = [jwksUrl ?? issuerUrl, introspectionUrl].filter((url) => url !== undefined)
  const caFile = path(caCertPath)
  const privateOption = allowPrivateIP ? undefined : 'allowPrivateIP: true'
  const reach = (url: string) => probes.reach(url, { caFile, privateOption })
  try {
    const fetcher = createFetcher({
      caFile,
      bearer: authTokenFile === undefined ? undefined : { file: path(authTokenFile), to: urls },
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
    })
    try {
      const [first] = urls
      if (first !== undefined && (await reach(first))) await examineKeys(examination, provider, fetcher.fetch)
      if (introspectionUrl === undefined) return
      if (!isElsewhere(introspectionUrl, first) || (await reach(introspectionUrl)))
        await examineIntrospection(examination, introspectionUrl, provider, fetcher.fetch)
    } finally {
      await fetcher.close()
    }
  } catch (error) {
    const message = messageOf(error)
    examination.wrong('files', 'FILE_UNREADABLE', message, 'correct the path or the content of the file')
  }
}

const isElsewhere = (url: string, other: string | undefined): boolean =>
  other === undefined || new URL(url).origin !== new URL(other).origin

async function examineKeys(
  examination: Examination,
  { issuerUrl, jwksUrl }: ExaminedProvider,
  fetch: Fetch,
): Promise<void> {
  const url = jwksUrl ?? (await discovered(examination, issuerUrl ?? '', fetch))
  if (url === undefined) return
  const response = await examination.probes.ask(fetch, url, { headers: ACCEPT_KEYS })
  if (jwksUrl !== undefined) examineClock(examination, response)
  const keys = response.document?.['keys']
  if (response.status === 200 && Array.isArray(keys) && keys.length > 0) {
    examination.ok('keys', `${keys.length} at ${url}`)
    return
  }
  const detail = `no key at ${url}: ${Array.isArray(keys) ? 'the list is empty' : response.failure}`
  examination.wrong('keys', 'KEYS_MISSING', detail, 'check jwksUrl, or ask the operator of the provider')
}

async function discovered(
  examination: Examination,
  issuerUrl: string,
  fetch: Fetch,
): Promise<string | undefined> {
  const { probes, ok, wrong } = examination
  const response = await probes.askIssuer(fetch, issuerUrl)
  const { document, status, failure } = response
  examineClock(examination, response)
  if (status !== 200 || document === undefined) {
    const advice = 'check issuerUrl, or set jwksUrl when the provider has no discovery'
    wrong('discovery', 'DISCOVERY_FAILED', `no metadata below ${issuerUrl}: ${failure}`, advice)
    return undefined
  }
  ok('discovery', `metadata found below ${issuerUrl}`)
  const { issuer, jwks_uri: keys } = document
  if (issuer !== issuerUrl) {
    const detail = `its metadata names ${JSON.stringify(issuer)}, and issuerUrl is ${JSON.stringify(issuerUrl)}`
    const advice = 'set issuerUrl exactly as in the metadata; a slash at the end counts'
    wrong('issuer', 'ISSUER_MISMATCH', detail, advice)
    return undefined
  }
  ok('issuer', 'equal to issuerUrl, byte for byte')
  if (typeof keys === 'string' && URL.canParse(keys)) return keys
  wrong('keys', 'KEYS_MISSING', 'its metadata names no jwks_uri', 'set jwksUrl')
  return undefined
}

// The maximum of `clockTolerance`.
const MAX_SKEW = 60_000

/** The gateway compares `exp` and `nbf` with the clock of this machine, so it must agree with the provider's. */
function examineClock({ ok, warning, wrong }: Examination, { date }: DocumentResponse): void {
  if (date === undefined) return
  // `Date` has whole seconds, and the response took some time.
  const skew = Math.round((Date.now() - date) / 1000)
  const detail = `this machine is ${Math.abs(skew)} s ${skew > 0 ? 'ahead' : 'behind'}`
  if (Math.abs(skew) <= 5) ok('clock', 'the same as on this machine')
  else if (Math.abs(skew) * 1000 <= MAX_SKEW) {
    warning('clock', 'CLOCK_SKEW', detail, `set the clock, or clockTolerance: ${Math.abs(skew)}s`)
  } else wrong('clock', 'CLOCK_SKEW', detail, 'set the clock: tokens look expired, or not valid yet')
}

async function examineIntrospection(
  { path, probes, ok, wrong }: Examination,
  url: string,
  { clientId, clientSecret, clientSecretFile }: ExaminedProvider,
  fetch: Fetch,
): Promise<void> {
  const secret = secretFrom({ value: clientSecret, file: path(clientSecretFile) })
  try {
    const authorization =
      clientId === undefined ? undefined : basicAuthorization(clientId, secret?.reveal() ?? '')
    const { status, document, failure } = await probes.ask(fetch, url, {
      method: 'POST',
      headers: { ...(authorization !== undefined && { authorization }) },
      body: new URLSearchParams({ token: 'sallyport-doctor', token_type_hint: 'access_token' }),
    })
    if (status === 200 && document?.['active'] === false) {
      ok('introspection', 'the provider knows the client, and calls a made-up token inactive')
    } else if (status === 401 || status === 403 || document?.['error'] === 'invalid_client') {
      const advice = 'check clientId and its secret, and that this client may introspect'
      wrong('introspection', 'INTROSPECTION_REFUSED', `the provider refused the client: ${failure}`, advice)
    } else {
      const advice = 'check introspectionUrl'
      wrong('introspection', 'INTROSPECTION_FAILED', `no response as in RFC 7662: ${failure}`, advice)
    }
  } finally {
    secret?.close()
  }
}
