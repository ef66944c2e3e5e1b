import { headerName, isPrivateUrl, scopeToken, secretText, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { tokenType } from './token-type.js'

const text = () => z.string().min(1)

const endpoint = webUrl().refine(
  (url) => !/#|^[^/]*\/\/[^/?]*@/.test(url),
  'expected a URL without user and fragment',
)

const REQUEST_FIELDS = [
  'grant_type',
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'audience',
  'scope',
  'resource',
  'actor_token',
  'actor_token_type',
  'client_id',
  'client_secret',
] as const

const RESPONSE_FIELDS = ['access_token', 'issued_token_type', 'token_type', 'expires_in'] as const

export type RequestField = (typeof REQUEST_FIELDS)[number]
export type ResponseField = (typeof RESPONSE_FIELDS)[number]

const renamed = <Name extends string>(names: readonly Name[]) =>
  z.partialRecord(z.enum(names), text().nullable()).default({})

const fields = {
  url: endpoint.describe('the token endpoint'),
  grantType: text()
    .default('urn:ietf:params:oauth:grant-type:token-exchange')
    .describe('the grant type of the request'),
  clientId: text().optional().describe('the client ID of the gateway'),
  clientSecret: secretText().optional().describe('its secret; a file is safer'),
  clientSecretFile: text().optional().describe('the file that holds its secret; read again when it changes'),
  clientAuthentication: z
    .enum(['basic', 'post'])
    .default('basic')
    .describe('how the gateway sends the secret: in the `Authorization` header, or in the body'),
  subject: z
    .enum(['caller', 'login'])
    .optional()
    .describe(
      "the token to exchange: `caller` is the caller's own; `login` is that of the identity provider where the caller signed in at the broker, and for all other callers their own; when unset, `login` in a list with a broker",
    ),
  subjectTokenType: tokenType()
    .prefault('access_token')
    .describe(
      'the type of the subject token; with a login before this in the list, or a broker, `id_token` exchanges its ID token',
    ),
  audience: text().optional().describe('the name of the target that the new token is for'),
  resource: z
    .url('expected an absolute URI')
    .refine((uri) => !uri.includes('#'), 'expected a URI without fragment')
    .optional()
    .describe('the URI of the target that the new token is for (RFC 8707)'),
  scopes: z.array(scopeToken()).default([]).describe('scopes of the new token'),
  requestedTokenType: tokenType().optional().describe('the type of the new token'),
  actorTokenFile: text()
    .optional()
    .describe("file with the actor's token, for delegation; read again when it changes"),
  actorTokenType: tokenType().prefault('access_token').describe("the type of the actor's token"),
  extraFields: z.record(text(), z.string()).default({}).describe('further fields of the request'),
  requestFormat: z.enum(['form', 'json']).default('form').describe('the format of the request'),
  requestNames: renamed(REQUEST_FIELDS).describe(
    'other names for fields of the request; `null` leaves one out',
  ),
  responseNames: renamed(RESPONSE_FIELDS).describe(
    'other names for fields of the response; `null` for one that it lacks',
  ),
  tokenType: text()
    .default('Bearer')
    .describe('the required `token_type`; `N_A` for a token that only the next exchange accepts'),
  headerName: headerName().prefault('authorization').describe('the header that carries the new token'),
  headerForm: z
    .string()
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'expected one line of printable ASCII')
    .refine((form) => form.includes('{token}'), 'expected a text with {token} in it')
    .default('Bearer {token}')
    .describe('the value of the header; `{token}` stands for the new token'),
  caCertPath: text()
    .optional()
    .describe('a file of PEM certificates to trust for the endpoint, instead of the default ones'),
  allowPrivateIP: z
    .boolean()
    .default(false)
    .describe('allow a token endpoint at a private or loopback address'),
}

export const exchangeOptions = z.strictObject(fields).superRefine(checkTogether)

export type ExchangeOptions = z.output<typeof exchangeOptions>

type Related = z.output<z.ZodObject<typeof fields>>

/** Checks options that depend on each other. */
function checkTogether(options: Related, context: z.core.$RefinementCtx): void {
  const { clientId, clientSecret, clientSecretFile, extraFields, requestNames } = options
  const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })

  if (clientSecret !== undefined && clientSecretFile !== undefined)
    report(['clientSecretFile'], 'excludes clientSecret: expected one of the two')
  if (clientId === undefined && clientSecret !== undefined) report(['clientSecret'], 'needs clientId as well')
  if (clientId === undefined && clientSecretFile !== undefined)
    report(['clientSecretFile'], 'needs clientId as well')
  if (!options.allowPrivateIP && isPrivateUrl(options.url))
    report(['allowPrivateIP'], 'is needed: the token endpoint is at a private or loopback address')
  if (requestNames.subject_token === null)
    report(['requestNames', 'subject_token'], 'cannot be left out: this token is exchanged')
  const names: readonly string[] = REQUEST_FIELDS.map((field) => nameOf(field, requestNames) ?? '')
  for (const name of Object.keys(extraFields)) {
    // Such a field could replace the subject token of the caller, or the client of this gateway.
    if (names.includes(name)) report(['extraFields', name], 'has an option of its own')
  }
  if (options.responseNames.access_token === null)
    report(['responseNames', 'access_token'], 'cannot be left out: it holds the new token')
}

/** The name of a field at this endpoint; `undefined` when it is left out. */
export function nameOf<Name extends string>(
  field: Name,
  names: Readonly<Partial<Record<Name, string | null>>>,
): string | undefined {
  const name: string | null | undefined = names[field]
  return name === undefined ? field : (name ?? undefined)
}
