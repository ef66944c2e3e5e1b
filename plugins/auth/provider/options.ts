import {
  duration,
  insecureHttpAllowed,
  isInsecure,
  isPrivateUrl,
  issuerUrl,
  PLAIN_HTTP_RULE,
  secretText,
  webUrl,
} from 'sallyport/toolkit'
import { z } from 'zod'

const filePath = () => z.string().min(1)

/** The issuer and audience of tokens. */
export const tokenFields = {
  name: z.string().min(1).describe('the provider in logs and metrics'),
  // A string and not a URL: `iss` is compared byte for byte, and URL would add a slash.
  issuerUrl: issuerUrl().describe('the issuer, equal to `iss` byte for byte'),
  audience: z.string().min(1).optional().describe('what `aud` must name; needed unless `anyAudience` is set'),
  anyAudience: z.boolean().default(false).describe('accept tokens that were issued for other audiences too'),
  clockTolerance: duration(60_000)
    .prefault(0)
    .describe('how far the clocks of issuer and gateway may differ, 60s at most'),
  advertised: z
    .boolean()
    .default(true)
    .describe(
      'discovery names the issuer as an authorization server; false beside `issuer/broker`, where clients sign in',
    ),
}

/** The keys, and the tokens that they verify. */
export const keyFields = {
  jwksUrl: webUrl().optional().describe('the URL of the keys; by default discovery finds it'),
  requireAccessTokenType: z
    .boolean()
    .default(false)
    .describe('accept `typ: at+jwt` only (RFC 9068); many providers issue plain `JWT`'),
  acceptIdTokens: z
    .boolean()
    .default(false)
    .describe('accept ID tokens too: the access tokens of Dex look the same'),
  keysMaxStale: duration()
    .prefault('24h')
    .describe('how long keys are used when they cannot be fetched again'),
}

/** Introspection of tokens that cannot be verified locally (RFC 7662). */
export const introspectionFields = {
  introspectionUrl: webUrl().optional().describe('the introspection endpoint, for tokens that are not JWTs'),
  clientId: z.string().min(1).optional().describe('the client ID of the gateway'),
  clientSecret: secretText().optional().describe('its secret; a file is safer'),
  clientSecretFile: filePath().optional().describe('the file that holds its secret'),
  requireIssuer: z.boolean().default(true).describe('`false`: a response without `iss` is accepted too'),
  requireAudience: z.boolean().default(true).describe('`false`: a response without `aud` is accepted too'),
  introspectionCacheTtl: duration(30_000)
    .prefault('30s')
    .describe(
      'how long a response is cached, and so a revoked token is still accepted; 30s at most, 0 is never',
    ),
}

/** Requests to the provider. */
export const egressFields = {
  caCertPath: filePath()
    .optional()
    .describe('a file of PEM certificates to trust for the provider, instead of the default ones'),
  authTokenFile: filePath()
    .optional()
    .describe('a file with a token for key fetches, and for introspection without `clientId`'),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('allow a provider at a private or loopback address, as in a cluster'),
}

type Parsed<Fields extends z.ZodRawShape> = z.output<z.ZodObject<Fields>>

export type CommonOptions = Parsed<typeof tokenFields & typeof egressFields>
export type KeyOptions = Parsed<typeof keyFields>
export type IntrospectionOptions = Parsed<typeof introspectionFields>

type Related = Pick<CommonOptions, 'audience' | 'anyAudience' | 'allowPrivateIP'> &
  Partial<Pick<CommonOptions, 'issuerUrl'> & KeyOptions & IntrospectionOptions>

/** Checks options that depend on each other. */
export function checkTogether(options: Related, context: z.core.$RefinementCtx): void {
  const { audience, anyAudience, clientId, clientSecret, clientSecretFile } = options
  const { requireAccessTokenType, acceptIdTokens } = options
  const report = (option: string, message: string) =>
    context.issues.push({ code: 'custom', input: options, path: [option], message })

  if (audience === undefined && !anyAudience)
    report('audience', 'missing: expected the audience that tokens are issued for')
  if (audience !== undefined && anyAudience)
    report('anyAudience', 'excludes audience: expected one of the two')
  if (requireAccessTokenType === true && acceptIdTokens === true)
    report('acceptIdTokens', 'excludes requireAccessTokenType: expected one of the two')
  if (clientSecret !== undefined && clientSecretFile !== undefined)
    report('clientSecretFile', 'excludes clientSecret: expected one of the two')
  if (clientSecret !== undefined && clientId === undefined) report('clientSecret', 'needs clientId as well')
  if (clientSecretFile !== undefined && clientId === undefined)
    report('clientSecretFile', 'needs clientId as well')
  const urls = Object.entries(requestedUrls(options))
  for (const [option, url] of urls)
    if (url !== undefined && URL.canParse(url) && isInsecure(new URL(url)) && !insecureHttpAllowed())
      report(option, `expected https: an attacker on the network could replace the keys; ${PLAIN_HTTP_RULE}`)
  const isPrivate = urls.some(([, url]) => url !== undefined && isPrivateUrl(url))
  if (isPrivate && !options.allowPrivateIP)
    report('allowPrivateIP', 'is needed: the provider is at a private or loopback address')
}

/** With `jwksUrl`, or without keys, no request goes to the issuer: its URL is only a name. */
function requestedUrls({ issuerUrl, jwksUrl, keysMaxStale, introspectionUrl }: Related) {
  const findsKeys = keysMaxStale !== undefined && jwksUrl === undefined
  return { issuerUrl: findsKeys ? issuerUrl : undefined, jwksUrl, introspectionUrl }
}

/** The options of one provider: for local verification of JWTs, for introspection, or both. */
export interface ProviderSettings {
  readonly common: CommonOptions
  readonly keys?: KeyOptions | undefined
  readonly introspection?: IntrospectionOptions | undefined
}
