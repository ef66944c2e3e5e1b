import {
  claimCondition,
  duration,
  insecureHttpAllowed,
  isInsecure,
  LONGEST_WAIT,
  PLAIN_HTTP_RULE,
  scopeToken,
  webUrl,
} from 'sallyport/toolkit'
import { z } from 'zod'

const host = (example: string) =>
  z
    .string()
    .regex(
      /^(?:\*|(?:\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?)$/,
      `expected a host, such as ${example}, \`*.example.net\`, or \`*\``,
    )

const given = z
  .strictObject({
    clientId: z.string().min(1).max(200).describe('its client ID'),
    redirectUris: z.array(z.url()).min(1).describe('where it gets its codes, compared whole'),
    name: z.string().min(1).describe('its name on the consent page'),
    clientSecretFile: z.string().min(1).optional().describe('the file that holds its secret'),
    jwksUrl: webUrl().optional().describe('its public keys, for `private_key_jwt`'),
  })
  .refine(({ clientSecretFile, jwksUrl }) => clientSecretFile === undefined || jwksUrl === undefined, {
    path: ['jwksUrl'],
    message: 'excludes clientSecretFile: expected one of the two',
  })

const clients = z
  .strictObject({
    known: z
      .boolean()
      .default(true)
      .describe('well-known clients may register the redirect URIs that they are known for'),
    documents: z
      .array(host('client.example.com'))
      .default(['*'])
      .describe('hosts whose client metadata documents are accepted'),
    registration: z
      .enum(['off', 'loopback', 'listed', 'open'])
      .default('loopback')
      .describe(
        'who may register: nobody, programs on the person’s own machine, those and the hosts of `redirectHosts`, or every https host',
      ),
    redirectHosts: z
      .array(host('app.example.com'))
      .default([])
      .describe('hosts of redirect URIs, with `listed`'),
    given: z.array(given).default([]).describe('clients that the operator wrote down'),
    allowPrivateIP: z.boolean().default(false).describe('metadata documents may be at private addresses'),
    caCertPath: z.string().min(1).optional().describe('PEM certificates to trust for metadata documents'),
  })
  .refine(({ registration, redirectHosts }) => registration !== 'listed' || redirectHosts.length > 0, {
    path: ['redirectHosts'],
    message: 'is needed with `registration: listed`: expected one host at least',
  })

export const BrokerOptions = z
  .strictObject({
    resourceUrl: webUrl().describe(
      'the URL of what is protected: the issuer has its origin, and tokens are for it',
    ),
    scopes: z.array(scopeToken()).default([]).describe('scopes of the resource that clients may get'),
    require: z
      .union([z.literal('anyone'), claimCondition()])
      .optional()
      .describe(
        'who may sign in: claims of the provider and their values; `anyone` lets in all whom the provider knows',
      ),
    keyFile: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .describe(
        'the key that signs and seals, made at the first start; of a list the first signs, all are accepted, and every file must exist',
      ),
    clients: clients.prefault({}).describe('which clients may ask people to sign in'),
    consent: z
      .enum(['remembered', 'each-time'])
      .default('remembered')
      .describe(
        'whether a person is asked again for a client that was allowed before; programs on a computer always ask',
      ),
    claims: z.array(z.string().min(1)).default([]).describe('claims of the provider that tokens have too'),
    accessToken: duration().prefault('1h').describe('how long an access token is good'),
    refreshToken: duration().prefault('720h').describe('how long a refresh token is good'),
    staleFor: duration(LONGEST_WAIT)
      .prefault('10m')
      .describe(
        'how long calls go on by what is known to be revoked while the state store is away; then they get 503',
      ),
  })
  .superRefine((options, context) => {
    const { resourceUrl, claims } = options
    if (URL.canParse(resourceUrl) && isInsecure(new URL(resourceUrl)) && !insecureHttpAllowed())
      context.addIssue({
        code: 'custom',
        path: ['resourceUrl'],
        message: `expected an https URL, or loopback: tokens would be sent in plain text; ${PLAIN_HTTP_RULE}`,
      })
    for (const [index, claim] of claims.entries())
      if (OWN_CLAIMS.has(claim))
        context.addIssue({
          code: 'custom',
          path: ['claims', index],
          message: `\`${claim}\` is set by the broker itself`,
        })
  })

/** No claim of a provider replaces one of these. */
export const OWN_CLAIMS: ReadonlySet<string> = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'client_id',
  'cnf',
  'sid',
  'auth_time',
  'scope',
  'idp',
])

export type BrokerOptions = z.output<typeof BrokerOptions>
export type ClientSettings = BrokerOptions['clients']
