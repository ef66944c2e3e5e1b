import type { Entry, SettingPath } from 'sallyport'
import { z } from 'zod'

const publicPaths = z
  .array(z.string().regex(/^\//, 'expected a path that begins with a slash'))
  .default([])
  .describe('further paths that need no token, matched by whole segments')

/** One identity provider. What else stands here belongs to the plugin that `type` picks, which validates it. */
const provider = z.looseObject({
  name: z.string().min(1).optional().describe('the provider in logs and metrics'),
  type: z
    .string()
    .min(1)
    .default('oidc')
    .describe('`oidc`, `kubernetes`, or the plugin of another kind of provider: a package, or a path'),
})

function refuseRepeats(list: readonly z.output<typeof provider>[], context: z.core.$RefinementCtx): void {
  const names = list.map(({ name, type }) => name ?? type)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) === index) continue
    const message = 'this name stands in the list already'
    context.issues.push({ code: 'custom', input: name, path: [index, 'name'], message, continue: true })
  }
}

const oauth = z.strictObject({
  resourceUrl: z.string().describe('the URL of what is protected, as clients know it'),
  realm: z.string().default('mcp-registry').describe('the realm of the challenge'),
  publicPaths,
  resourceDocumentation: z.url().optional().describe('documentation of the resource, told in discovery'),
  scopes: z.array(z.string()).default([]).describe('scopes that clients should ask for, told in discovery'),
  requiredScopes: z.array(z.string()).default([]).describe('scopes without which a token is answered 403'),
  unavailableStatus: z
    .literal([401, 503])
    .default(401)
    .describe('the answer when no provider that could decide was reachable'),
  providers: z
    .array(provider)
    .min(
      1,
      'expected one provider at least, such as { name: corp, issuerUrl: https://idp.example.com, audience: registry }',
    )
    .superRefine(refuseRepeats)
    .describe('identity providers, asked in this order'),
})

/** Who may come in: the `auth` section of a configuration file. */
export const authSection = z
  .strictObject({
    mode: z
      .enum(['oauth', 'anonymous'])
      .default('oauth')
      .describe('`oauth`: a token is needed; `anonymous`: nobody is asked, for development only'),
    publicPaths,
    oauth: oauth.optional().describe('whose tokens are accepted; needed in mode oauth'),
  })
  .superRefine(({ mode, oauth: settings }, context) => {
    if (mode === 'anonymous' || settings !== undefined) return
    context.issues.push({
      code: 'custom',
      input: settings,
      path: ['oauth'],
      message: MISSING_OAUTH,
      continue: true,
    })
  })

const MISSING_OAUTH =
  'missing: mode oauth needs resourceUrl and providers, such as { resourceUrl: https://registry.example.com, ' +
  'providers: [{ name: corp, issuerUrl: https://idp.example.com, audience: registry }] }; mode anonymous lets anybody in'

export type AuthSection = z.output<typeof authSection>
type OAuth = z.output<typeof oauth>

/** The same section for who derives it from other settings: the resource may be known only once the port is open. */
export type IncomingAuth = Omit<AuthSection, 'oauth'> & {
  readonly oauth?: (Omit<OAuth, 'resourceUrl'> & { readonly resourceUrl?: string | undefined }) | undefined
}

/** What is not in the section, because it differs between those who use it. */
export interface Surroundings {
  /** Paths that are open in every mode. */
  readonly alwaysPublic?: readonly string[]
  /** Where the resource is below the main port, when its URL is not given. */
  readonly resourcePath?: string
  /** The settings that a provider's options, and those of the resource, were written as. */
  readonly origins?: { readonly provider: Entry['origin']; readonly resource: Entry['origin'] }
}

/** The entries that stand at the gate, in the order in which they are asked. */
export function incomingEntries(auth: IncomingAuth, surroundings: Surroundings = {}): Entry[] {
  const { alwaysPublic = ['/.well-known', '/openapi.json'], resourcePath, origins } = surroundings
  const { mode, oauth: settings } = auth
  const open = [
    ...publicEntry('auth/public-paths', alwaysPublic, undefined),
    ...publicEntry('auth/public-paths:auth', auth.publicPaths, ['auth', 'publicPaths']),
    ...publicEntry('auth/public-paths:oauth', settings?.publicPaths ?? [], [...OAUTH, 'publicPaths']),
  ]
  if (mode === 'anonymous') return [{ use: 'auth/anonymous' }, ...open]
  // A list in which nobody accepts lets nobody in, which is what a section without providers means.
  if (settings === undefined) return open

  const { resourceUrl, publicPaths: _, providers, ...told } = settings
  return [
    { use: 'discovery/issuer' },
    ...providers.map((each, index) => providerEntry(each, index, origins?.provider)),
    ...open,
    {
      use: 'discovery/resource',
      with: {
        ...told,
        ...(resourceUrl !== undefined && { resource: resourceUrl }),
        ...(resourcePath !== undefined && { path: resourcePath }),
      },
      origin: origins?.resource ?? { '': OAUTH, resource: [...OAUTH, 'resourceUrl'] },
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
    with: options,
    ...(origin === undefined ? { origin: { '': at }, named: [...at, 'type'] } : { origin }),
  }
}
