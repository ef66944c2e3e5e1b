import { duration, secretText } from 'sallyport'
import { z } from 'zod'

const httpUrl = () =>
  z
    .string()
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'expected an http or https URL')

const filePath = () => z.string().min(1)

/** Whose tokens, and for whom. */
export const tokenFields = {
  name: z.string().min(1).describe('the provider in logs and metrics'),
  // A string and not a URL: `iss` is compared byte for byte, and URL would add a slash.
  issuerUrl: httpUrl().describe('the issuer, equal to `iss` byte for byte'),
  audience: z.string().min(1).optional().describe('what `aud` must name; needed unless `anyAudience` is set'),
  anyAudience: z.boolean().default(false).describe('accept tokens that were issued for somebody else too'),
  clockTolerance: duration(60_000)
    .prefault(0)
    .describe('how far the clocks of issuer and gateway may differ, 60s at most'),
}

/** Where keys come from, and what they may sign. */
export const keyFields = {
  jwksUrl: httpUrl().optional().describe('the keys; without it they are found by discovery'),
  requireAccessTokenType: z
    .boolean()
    .default(false)
    .describe('accept `typ: at+jwt` only (RFC 9068); many providers issue plain `JWT`'),
  keysMaxStale: duration()
    .prefault('24h')
    .describe('how long keys go on working when they cannot be fetched again'),
}

/** How a provider is asked about tokens that cannot be verified here (RFC 7662). */
export const introspectionFields = {
  introspectionUrl: httpUrl().optional().describe('the introspection endpoint, for tokens that are not JWTs'),
  clientId: z.string().min(1).optional().describe('the client that asks'),
  clientSecret: secretText().optional().describe('its secret; a file is safer'),
  clientSecretFile: filePath().optional().describe('the file that holds its secret'),
  requireIssuer: z.boolean().default(true).describe('`false`: an answer without `iss` is taken too'),
  requireAudience: z.boolean().default(true).describe('`false`: an answer without `aud` is taken too'),
  introspectionCacheTtl: duration(30_000)
    .prefault('30s')
    .describe(
      'how long an answer is remembered, and so a revoked token may still pass; 30s at most, 0 is never',
    ),
}

/** How the provider is reached. */
export const egressFields = {
  caCertPath: filePath().optional().describe('PEM certificates to trust for it, in place of the usual ones'),
  authTokenFile: filePath()
    .optional()
    .describe('a file with a token for key fetches, and for introspection without `clientId`'),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('it may be at a private or loopback address, as in a cluster'),
}

type Written<Fields extends z.ZodRawShape> = z.output<z.ZodObject<Fields>>

export type CommonOptions = Written<typeof tokenFields & typeof egressFields>
export type KeyOptions = Written<typeof keyFields>
export type IntrospectionOptions = Written<typeof introspectionFields>

type Related = Pick<CommonOptions, 'audience' | 'anyAudience'> &
  Partial<Pick<IntrospectionOptions, 'clientId' | 'clientSecret' | 'clientSecretFile'>>

/** What one option alone cannot show to be wrong. */
export function checkTogether(options: Related, context: z.core.$RefinementCtx): void {
  const { audience, anyAudience, clientId, clientSecret, clientSecretFile } = options
  const complain = (option: string, message: string) =>
    context.issues.push({ code: 'custom', input: options, path: [option], message })

  if (audience === undefined && !anyAudience)
    complain('audience', 'missing: expected the audience that tokens are issued for')
  if (audience !== undefined && anyAudience)
    complain('anyAudience', 'stands against audience: expected one of the two')
  if (clientSecret !== undefined && clientSecretFile !== undefined)
    complain('clientSecretFile', 'stands against clientSecret: expected one of the two')
  if (clientSecret !== undefined && clientId === undefined)
    complain('clientSecret', 'needs clientId beside it')
  if (clientSecretFile !== undefined && clientId === undefined)
    complain('clientSecretFile', 'needs clientId beside it')
}
