import { basicAuthorization, createFetcher, type Fetch, insecureHttpAllowed, secretFrom } from 'sallyport'
import { z } from 'zod'
import { Chart, messageOf } from '../findings/chart.js'
import { examineConnection } from './connection.js'
import { type Answer, askFor, openIdFirst, textIn } from './documents.js'

/** The options by which providers are reached, whichever plugin has them. */
const reachable = z.object({
  issuerUrl: z.string().optional(),
  jwksUrl: z.string().optional(),
  introspectionUrl: z.string().optional(),
  clientId: z.string().optional(),
  clientSecret: z.string().optional(),
  clientSecretFile: z.string().optional(),
  caCertPath: z.string().optional(),
  authTokenFile: z.string().optional(),
  allowPrivateIP: z.boolean().default(false),
})

type Provider = z.output<typeof reachable>

/** A provider that has an address, or nothing. */
export function providerIn(options: unknown): Provider | undefined {
  const { data } = reachable.safeParse(options)
  return data?.issuerUrl === undefined && data?.jwksUrl === undefined ? undefined : data
}

/** Asks a provider everything that verifying its tokens will ask of it. */
export async function examineProvider(about: string, provider: Provider, path: (path: string) => string) {
  const chart = new Chart(about)
  const { caCertPath, authTokenFile, allowPrivateIP, jwksUrl, introspectionUrl, issuerUrl } = provider
  const asked = [jwksUrl ?? issuerUrl, introspectionUrl].filter((url) => url !== undefined)
  const caFile = caCertPath === undefined ? undefined : path(caCertPath)
  try {
    const fetcher = createFetcher({
      caFile,
      bearer: authTokenFile === undefined ? undefined : { file: path(authTokenFile), to: asked },
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
    })
    const privateOption = allowPrivateIP ? undefined : 'allowPrivateIP: true'
    const reach = (url: string) => examineConnection(chart, url, { caFile, privateOption })
    try {
      const [first] = asked
      if (first !== undefined && (await reach(first))) await examineKeys(chart, provider, fetcher.fetch)
      if (
        introspectionUrl !== undefined &&
        (isElsewhere(introspectionUrl, first) ? await reach(introspectionUrl) : true)
      )
        await examineIntrospection(chart, introspectionUrl, provider, path, fetcher.fetch)
    } finally {
      await fetcher.close()
    }
  } catch (error) {
    chart.wrong('files', 'FILE_UNREADABLE', messageOf(error), 'correct the path, or what is in the file')
  }
  return chart.findings
}

const isElsewhere = (url: string, other: string | undefined): boolean =>
  other === undefined || new URL(url).origin !== new URL(other).origin

async function examineKeys(chart: Chart, { issuerUrl, jwksUrl }: Provider, fetch: Fetch): Promise<void> {
  const url = jwksUrl ?? (await discovered(chart, issuerUrl ?? '', fetch))
  if (url === undefined) return
  const answer = await askFor(fetch, url)
  if (jwksUrl !== undefined) examineClock(chart, answer)
  const keys = answer.document?.['keys']
  if (answer.status === 200 && Array.isArray(keys) && keys.length > 0) {
    chart.ok('keys', `${keys.length} at ${url}`)
    return
  }
  const detail = `no key at ${url}: ${Array.isArray(keys) ? 'the list is empty' : answer.failure}`
  chart.wrong('keys', 'KEYS_MISSING', detail, 'check jwksUrl, or ask who runs the provider')
}

async function discovered(chart: Chart, issuerUrl: string, fetch: Fetch): Promise<string | undefined> {
  let answer: Answer | undefined
  for (const url of openIdFirst(issuerUrl)) {
    answer = await askFor(fetch, url)
    if (answer.status === 200 || answer.status === undefined) break
  }
  const { document, status, failure = 'no answer' } = answer ?? {}
  if (answer !== undefined) examineClock(chart, answer)
  if (status !== 200 || document === undefined) {
    const advice = 'check issuerUrl, or set jwksUrl when the provider has no discovery'
    chart.wrong('discovery', 'DISCOVERY_FAILED', `no metadata below ${issuerUrl}: ${failure}`, advice)
    return undefined
  }
  chart.ok('discovery', `metadata found below ${issuerUrl}`)
  const issuer = textIn(document, 'issuer')
  if (issuer !== issuerUrl) {
    const detail = `it calls itself ${JSON.stringify(issuer)}, and issuerUrl is ${JSON.stringify(issuerUrl)}`
    const advice = 'write issuerUrl exactly as it calls itself; a slash at the end counts'
    chart.wrong('issuer', 'ISSUER_MISMATCH', detail, advice)
    return undefined
  }
  chart.ok('issuer', 'equal to issuerUrl, byte for byte')
  const keys = textIn(document, 'jwks_uri')
  if (keys !== undefined && URL.canParse(keys)) return keys
  chart.wrong('keys', 'KEYS_MISSING', 'its metadata names no jwks_uri', 'set jwksUrl')
  return undefined
}

// The most that `clockTolerance` can make up for.
const MOST_SKEW = 60_000

/** Tokens are judged by this machine's clock: `exp` and `nbf` mean another time on the other side. */
function examineClock(chart: Chart, { date }: Answer): void {
  if (date === undefined) return
  // `Date` counts whole seconds, and the answer was on its way for a while.
  const skew = Math.round((Date.now() - date) / 1000)
  const detail = `this machine is ${Math.abs(skew)} s ${skew > 0 ? 'ahead' : 'behind'}`
  if (Math.abs(skew) <= 5) chart.ok('clock', 'the same as here')
  else if (Math.abs(skew) * 1000 <= MOST_SKEW) {
    chart.warning('clock', 'CLOCK_SKEW', detail, `set the clock, or clockTolerance: ${Math.abs(skew)}s`)
  } else chart.wrong('clock', 'CLOCK_SKEW', detail, 'set the clock: tokens look expired, or not valid yet')
}

async function examineIntrospection(
  chart: Chart,
  url: string,
  { clientId, clientSecret, clientSecretFile }: Provider,
  path: (path: string) => string,
  fetch: Fetch,
): Promise<void> {
  const file = clientSecretFile === undefined ? undefined : path(clientSecretFile)
  const secret = secretFrom({ value: clientSecret, file })
  try {
    const authorization =
      clientId === undefined ? undefined : basicAuthorization(clientId, secret?.reveal() ?? '')
    const { status, document, failure } = await askFor(fetch, url, {
      method: 'POST',
      headers: { ...(authorization !== undefined && { authorization }) },
      body: new URLSearchParams({ token: 'sallyport-doctor', token_type_hint: 'access_token' }),
    })
    if (status === 200 && document?.['active'] === false) {
      chart.ok('introspection', 'it knows the client, and does not know a token that nobody issued')
    } else if (status === 401 || status === 403 || document?.['error'] === 'invalid_client') {
      const advice = 'check clientId and its secret, and that this client may introspect'
      chart.wrong('introspection', 'INTROSPECTION_REFUSED', `it refuses the credentials: ${failure}`, advice)
    } else {
      const advice = 'check introspectionUrl'
      chart.wrong('introspection', 'INTROSPECTION_FAILED', `no answer of RFC 7662: ${failure}`, advice)
    }
  } finally {
    secret?.close()
  }
}
