import { z } from 'zod'
import { parseAddress } from '../options/address.js'

const name = z.string().min(1)

const address = z.string().transform((text, context) => {
  const parsed = parseAddress(text)
  if (parsed !== undefined) return parsed
  context.issues.push({
    code: 'custom',
    input: text,
    message: 'HOST:PORT or [IPV6]:PORT is expected',
  })
  return z.NEVER
})

const publicPaths = z
  .array(z.string().regex(/^\//))
  .default([])
  .describe('further paths that need no token, matched by whole segments')

/** One identity provider. What else stands here belongs to the plugin that `type` picks, which validates it. */
const provider = z.looseObject({
  name: name.describe('the provider in logs'),
  type: z.string().default('oidc').describe('which kind of provider plugin this is'),
})

const oauth = z.strictObject({
  resourceUrl: z.url().describe('the URL of the registry as clients know it'),
  realm: z.string().default('mcp-registry').describe('the realm of the challenge'),
  publicPaths,
  resourceDocumentation: z.url().optional().describe('documentation of the resource, told in discovery'),
  unavailableStatus: z
    .literal([401, 503])
    .default(401)
    .describe('the answer when no provider that could decide was reachable'),
  providers: z.array(provider).min(1).describe('identity providers, asked in this order'),
})

const plugin = z.strictObject({
  use: z.string().min(1).describe('a built-in name, a package, or a path that starts with ./, ../ or /'),
  with: z.unknown().optional().describe("the plugin's options"),
  id: z.string().optional().describe('tells it apart from another entry of the same plugin'),
  required: z.boolean().optional().describe('false lets the registry start without it'),
  before: z.string().optional().describe('place it before this entry'),
  after: z.string().optional().describe('place it after this entry'),
})

/** The registry's own file. */
export const registryFile = z.strictObject({
  address: address.describe('where the registry API listens'),
  internalAddress: address.describe('where /health, /readiness, /version and /metrics are served'),
  auth: z.strictObject({
    mode: z.enum(['oauth', 'anonymous']).describe('who may read'),
    publicPaths,
    oauth: oauth.optional(),
  }),
  registries: z.array(z.strictObject({ name, sources: z.array(z.string()) })).optional(),
  sources: z.array(z.looseObject({ name })).default([]).describe('where server records come from'),
  plugins: z.array(plugin).default([]).describe('further plugins'),
})

export type RegistrySettings = z.output<typeof registryFile>
