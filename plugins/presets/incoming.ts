import type { Entry, SettingPath } from 'sallyport'
import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { brokerEntries, brokerSection } from './broker.js'
import { refuse, refuseRepeats } from './settings/refuse.js'

const publicPaths = z
  .array(z.string().regex(/^\//, 'expected a path that begins with a slash'))
  .default([])
  .describe('further paths that need no token, matched by whole segments')

// An operator need not know the protocol of a product.
const OIDC_PRODUCTS = new Set([
  'keycloak',
  'okta',
  'auth0',
  'entra',
  'azure',
  'google',
  'dex',
  'zitadel',
  'authentik',
])

/** The sign-in of the pages at a provider. The plugin itself validates it, with the needed fields of the provider. */
const signIn = z.strictObject({
  provider: z
    .string()
    .optional()
    .describe('the name of the provider where people sign in; the first one when unset'),
  clientId: z.string().describe('the client ID of the pages at the provider'),
  clientSecret: secretText().optional().describe('its secret; a file is safer, and a public client has none'),
  clientSecretFile: z.string().optional().describe('the file that holds its secret'),
  scopes: z.array(z.string()).default(['openid']).describe('the scopes that are asked for'),
  resource: z
    .string()
    .optional()
    .describe('the resource that tokens are asked for (RFC 8707); `resourceUrl` when unset, none if empty'),
  cookieKeyFile: z
    .string()
    .optional()
    .describe('the key of the cookies, at least 32 bytes in base64, the same for all replicas'),
})

/** One identity provider. All other keys belong to the plugin that `type` selects, which validates them. */
const provider = z.looseObject({
  name: z.string().min(1).optional().describe('the provider in logs and metrics'),
  type: z
    .string()
    .min(1)
    .refine((type) => !OIDC_PRODUCTS.has(type.toLowerCase()), 'use `oidc`: it is an OpenID Connect provider')
    .default('oidc')
    .describe('`oidc`, `kubernetes`, or the plugin of another kind of provider: a package, or a path'),
})

const oauth = z.strictObject({
  resourceUrl: z.string().describe('the URL of what is protected, as clients know it'),
  realm: z.string().default('mcp-registry').describe('the realm of the challenge'),
  publicPaths,
  resourceDocumentation: z.url().optional().describe('documentation of the resource, named in discovery'),
  scopes: z.array(z.string()).default([]).describe('scopes that clients should ask for, named in discovery'),
  requiredScopes: z.array(z.string()).default([]).describe('scopes without which a token is answered 403'),
  unavailableStatus: z
    .literal([401, 503])
    .default(401)
    .describe(
      'the status when no provider that could decide was reachable; with 503 clients come back with the same token',
    ),
  providers: z
    .array(provider)
    .default([])
    .superRefine((list, context) =>
      refuseRepeats(
        list.map(({ name, type }) => name ?? type),
        [],
        context,
      ),
    )
    .describe(
      'identity providers whose tokens are accepted, asked in this order; may be left out with `broker`',
    ),
  broker: brokerSection,
  signIn: signIn.optional().describe('people sign in to the pages with a browser'),
})

/** The `auth` section of a configuration file: which callers are accepted. */
export const authSection = z
  .strictObject({
    mode: z
      .enum(['oauth', 'anonymous'])
      .default('oauth')
      .describe(
        '`oauth`: a token is needed; `anonymous`: callers are not authenticated, for development only',
      ),
    publicPaths,
    oauth: oauth.optional().describe('whose tokens are accepted; needed in mode oauth'),
  })
  .superRefine(({ mode, oauth: settings }, context) => {
    if (settings?.signIn !== undefined) refuseSignIn(mode, settings, settings.signIn, context)
    if (settings?.broker !== undefined && mode === 'anonymous')
      refuse(context, ['oauth', 'broker'], 'excludes mode anonymous, where every request is accepted')
    if (settings !== undefined && settings.providers.length === 0 && settings.broker === undefined)
      refuse(context, ['oauth', 'providers'], MISSING_PROVIDER)
    if (mode === 'anonymous' || settings !== undefined) return
    refuse(context, ['oauth'], MISSING_OAUTH)
  })

const MISSING_PROVIDER =
  'expected one provider at least, such as { name: corp, issuerUrl: https://idp.example.com, audience: registry }, or `broker`'

const MISSING_OAUTH =
  'missing: mode oauth needs resourceUrl and providers, such as { resourceUrl: https://registry.example.com, ' +
  'providers: [{ name: corp, issuerUrl: https://idp.example.com, audience: registry }] }; mode anonymous lets anybody in'

function refuseSignIn(
  mode: 'oauth' | 'anonymous',
  { providers }: OAuth,
  { provider: wanted }: z.output<typeof signIn>,
  context: z.core.$RefinementCtx,
): void {
  const at = ['oauth', 'signIn']
  if (mode === 'anonymous')
    refuse(context, at, 'excludes mode anonymous, which accepts every caller without a sign-in')
  const found = signInProvider(providers, wanted)
  if (found === undefined) {
    const known = providers.map(nameOf).join(', ')
    refuse(context, [...at, 'provider'], `no provider has this name; known are: ${known}`)
  } else if (typeof found['issuerUrl'] !== 'string' || found.type === 'kubernetes') {
    const message = `nobody can sign in at ${nameOf(found)}, which is no OpenID Connect provider with an issuerUrl: name another one`
    refuse(context, wanted === undefined ? at : [...at, 'provider'], message)
  }
}

const nameOf = ({ name, type }: OAuth['providers'][number]): string => name ?? type

const signInProvider = (
  providers: OAuth['providers'],
  wanted: string | undefined,
): OAuth['providers'][number] | undefined =>
  wanted === undefined ? providers[0] : providers.find((each) => nameOf(each) === wanted)

export type AuthSection = z.output<typeof authSection>
type OAuth = z.output<typeof oauth>

/**
 * The same section for presets that derive it from other settings: the resource URL may be known only once the port
 * is open.
 */
export type IncomingAuth = Omit<AuthSection, 'oauth'> & {
  readonly oauth?: (Omit<OAuth, 'resourceUrl'> & { readonly resourceUrl?: string | undefined }) | undefined
}

/** The settings outside of the section, which differ between presets. */
export interface Surroundings {
  /** Paths that are public in every mode. */
  readonly alwaysPublic?: readonly string[]
  /** The path of the resource below the main port, when its URL is not given. */
  readonly resourcePath?: string
  /** The entries that store what a broker shares with other processes. */
  readonly brokerState?: (keyFile: string | undefined) => readonly Entry[]
  /** The settings from which the options of a provider, of the resource and of the broker come, for messages. */
  readonly origins?: {
    readonly provider: Entry['origin']
    readonly resource: Entry['origin']
    readonly broker?: { readonly broker: Entry['origin']; readonly login: Entry['origin'] }
  }
  /** Where the section of the broker stands in the file. */
  readonly brokerAt?: SettingPath
}

/** The entries that check callers, in their order. */
export function incomingEntries(auth: IncomingAuth, surroundings: Surroundings = {}): Entry[] {
  const { alwaysPublic = ['/.well-known', '/openapi.json'], resourcePath, origins } = surroundings
  const { brokerState = () => [], brokerAt = [...OAUTH, 'broker'] } = surroundings
  const { mode, oauth: settings } = auth
  const open = [
    ...publicEntry('auth/public-paths', alwaysPublic, undefined),
    ...publicEntry('auth/public-paths:auth', auth.publicPaths, ['auth', 'publicPaths']),
    ...publicEntry('auth/public-paths:oauth', settings?.publicPaths ?? [], [...OAUTH, 'publicPaths']),
  ]
  if (mode === 'anonymous') return [{ use: 'auth/anonymous' }, ...open]
  // A list without an authenticator refuses every caller, as a section without providers should.
  if (settings === undefined) return open

  const { resourceUrl, publicPaths: _, signIn: _signIn, providers, broker, ...options } = settings
  return [
    { use: 'discovery/issuer' },
    // With a broker clients sign in there, and the providers' own tokens are those of machines.
    ...providers.map((each, index) =>
      providerEntry(broker === undefined ? each : { advertised: false, ...each }, index, origins?.provider),
    ),
    ...(broker === undefined
      ? []
      : brokerEntries(broker, {
          at: brokerAt,
          resourceUrl,
          scopes: settings.scopes,
          origin: origins?.broker,
          state: brokerState,
        })),
    ...open,
    {
      use: 'discovery/resource',
      with: {
        ...options,
        ...(resourceUrl !== undefined && { resource: resourceUrl }),
        ...(resourcePath !== undefined && { path: resourcePath }),
      },
      origin: origins?.resource ?? { '': OAUTH, resource: [...OAUTH, 'resourceUrl'] },
    },
  ]
}

/** The sign-in for the pages that come after it in the list. */
export function signInEntries({ oauth: settings }: AuthSection): Entry[] {
  if (settings?.signIn === undefined) return []
  const { provider: wanted, ...own } = settings.signIn
  const provider = signInProvider(settings.providers, wanted)
  if (provider === undefined) return []
  const at = [...OAUTH, 'providers', settings.providers.indexOf(provider)]
  const shared = ['issuerUrl', 'caCertPath', 'allowPrivateIP'].filter((key) => provider[key] !== undefined)
  return [
    {
      use: 'pages/sign-in',
      with: {
        ...own,
        resourceUrl: settings.resourceUrl,
        ...Object.fromEntries(shared.map((key) => [key, provider[key]])),
      },
      origin: {
        '': [...OAUTH, 'signIn'],
        resourceUrl: [...OAUTH, 'resourceUrl'],
        ...Object.fromEntries(shared.map((key) => [key, [...at, key]])),
        allowPrivateIP: [...at, 'allowPrivateIP'],
      },
    },
  ]
}

const OAUTH: SettingPath = ['auth', 'oauth']

/** The short names of `type`, and the plugins that they stand for. */
export const providerTypes: Readonly<Record<string, string>> = {
  oidc: 'auth/oidc',
  kubernetes: 'auth/kubernetes',
}

function publicEntry(id: string, paths: readonly string[], written: SettingPath | undefined): Entry[] {
  if (paths.length === 0) return []
  return [
    {
      use: 'auth/public-paths',
      id,
      with: { paths },
      ...(written !== undefined && { origin: { paths: written } }),
    },
  ]
}

function providerEntry(
  { type, ...options }: OAuth['providers'][number],
  index: number,
  origin: Entry['origin'],
): Entry {
  const at = [...OAUTH, 'providers', index]
  return {
    use: providerTypes[type] ?? type,
    id: `auth/${type}:${options.name ?? type}`,
    shortNames: Object.keys(providerTypes),
    with: options,
    ...(origin === undefined ? { origin: { '': at }, named: [...at, 'type'] } : { origin }),
  }
}
