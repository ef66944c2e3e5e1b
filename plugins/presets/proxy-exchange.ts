import type { Entry } from 'sallyport'
import { z } from 'zod'

const text = z.string().min(1)
const url = z
  .string()
  .refine((given) => /^https?:\/\//i.test(given) && URL.canParse(given), 'expected an http or https URL')

/** The settings of the proxy that speak of token exchange. */
export const exchangeSettings = {
  tokenExchangeUrl: url.optional().describe('token endpoint that exchanges tokens; turns the exchange on'),
  tokenExchangeAudience: text.optional().describe('audience of the exchanged tokens'),
  tokenExchangeResource: text.optional().describe('resource that the exchanged tokens are for'),
  tokenExchangeClientId: text.optional().describe('client ID for the exchange'),
  tokenExchangeClientSecret: text.meta({ writeOnly: true }).optional().describe('its secret'),
  tokenExchangeClientSecretFile: text.optional().describe('file that holds its secret'),
  tokenExchangeScopes: z.array(text).default([]).describe('scopes of the exchanged tokens'),
  tokenExchangeHeaderName: text
    .optional()
    .describe('header that carries the exchanged token; Authorization, unless given'),
  tokenExchangeSubjectTokenType: text
    .optional()
    .describe('`access_token`, unless given, or `id_token`: what is exchanged'),
  tokenExchangeActorTokenFile: text.optional().describe("file that holds the actor's token"),
  tokenExchangeCaCert: text.optional().describe('file of CA certificates to trust for the token endpoint'),
  tokenExchangeAllowPrivateIp: z
    .boolean()
    .default(false)
    .describe('the token endpoint may be at a private or loopback address'),
}

type ExchangeSettings = z.output<z.ZodObject<typeof exchangeSettings>>

/** The settings that the rules of the exchange look at beside its own. */
export interface BesideExchange extends ExchangeSettings {
  readonly oidcIssuer?: string | undefined
  readonly remoteAuth?: boolean | undefined
  readonly remoteAuthBearerToken?: string | undefined
  readonly remoteAuthBearerTokenFile?: string | undefined
}

/** What one flag of the exchange alone cannot show to be wrong. */
export function exchangeRules(
  settings: BesideExchange,
  complain: (setting: keyof ExchangeSettings, message: string) => void,
): void {
  const { tokenExchangeUrl, tokenExchangeClientId } = settings
  if (tokenExchangeUrl === undefined) {
    for (const setting of NEED_URL) {
      if (isSet(settings[setting]))
        complain(setting, 'needs --token-exchange-url: without it nothing is exchanged')
    }
    return
  }
  for (const setting of ['tokenExchangeClientSecret', 'tokenExchangeClientSecretFile'] as const) {
    if (settings[setting] !== undefined && tokenExchangeClientId === undefined)
      complain(setting, 'needs --token-exchange-client-id')
  }
  subject(settings, complain)
}

function subject(settings: BesideExchange, complain: Parameters<typeof exchangeRules>[1]): void {
  const { oidcIssuer, remoteAuth = false, remoteAuthBearerToken, remoteAuthBearerTokenFile } = settings
  const isGiven = remoteAuthBearerToken !== undefined || remoteAuthBearerTokenFile !== undefined
  if (oidcIssuer === undefined && !remoteAuth && !isGiven) {
    complain(
      'tokenExchangeUrl',
      'has no token to exchange: expected --oidc-issuer, whose callers bring one, or a login or token of --remote-auth-*',
    )
  }
  if (isGiven && settings.tokenExchangeSubjectTokenType?.endsWith('id_token')) {
    complain(
      'tokenExchangeSubjectTokenType',
      'stands against a given bearer token, which is what is exchanged and is no ID token',
    )
  }
}

const NEED_URL = [
  'tokenExchangeAudience',
  'tokenExchangeResource',
  'tokenExchangeClientId',
  'tokenExchangeClientSecret',
  'tokenExchangeClientSecretFile',
  'tokenExchangeScopes',
  'tokenExchangeHeaderName',
  'tokenExchangeSubjectTokenType',
  'tokenExchangeActorTokenFile',
  'tokenExchangeCaCert',
  'tokenExchangeAllowPrivateIp',
] as const

const isSet = (value: string | boolean | readonly string[] | undefined): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false

/** The exchange, if there is one. It stands behind every credential whose token it could take. */
export function exchangeEntries(settings: ExchangeSettings): Entry[] {
  const { tokenExchangeUrl, tokenExchangeClientSecret: clientSecret } = settings
  if (tokenExchangeUrl === undefined) return []
  const options = {
    url: tokenExchangeUrl,
    audience: settings.tokenExchangeAudience,
    resource: settings.tokenExchangeResource,
    clientId: settings.tokenExchangeClientId,
    clientSecret,
    // The value goes before the file, wherever the two were written.
    clientSecretFile: clientSecret === undefined ? settings.tokenExchangeClientSecretFile : undefined,
    scopes: settings.tokenExchangeScopes,
    headerName: settings.tokenExchangeHeaderName,
    subjectTokenType: settings.tokenExchangeSubjectTokenType,
    actorTokenFile: settings.tokenExchangeActorTokenFile,
    caCertPath: settings.tokenExchangeCaCert,
    allowPrivateIP: settings.tokenExchangeAllowPrivateIp,
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return [{ use: 'credential/token-exchange', with: Object.fromEntries(given), origin: ORIGIN }]
}

const ORIGIN: Entry['origin'] = {
  url: ['tokenExchangeUrl'],
  audience: ['tokenExchangeAudience'],
  resource: ['tokenExchangeResource'],
  clientId: ['tokenExchangeClientId'],
  clientSecret: ['tokenExchangeClientSecret'],
  clientSecretFile: ['tokenExchangeClientSecretFile'],
  scopes: ['tokenExchangeScopes'],
  headerName: ['tokenExchangeHeaderName'],
  subjectTokenType: ['tokenExchangeSubjectTokenType'],
  actorTokenFile: ['tokenExchangeActorTokenFile'],
  caCertPath: ['tokenExchangeCaCert'],
  allowPrivateIP: ['tokenExchangeAllowPrivateIp'],
}
