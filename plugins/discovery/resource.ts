import {
  Challenge,
  ConfigError,
  definePlugin,
  type Gateway,
  type Identity,
  PublicAddress,
  Refusal,
  type ResourceDocument,
  ResourceMetadata,
} from 'sallyport'
import { scopeToken, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { bearerChallenge } from './resource/challenge.js'
import { MetadataRoutes } from './resource/metadata-routes.js'
import { metadataUrl, pathOf } from './resource/well-known.js'

const UNREADABLE = 'expected percent-encoded UTF-8'

const isReadable = (text: string): boolean => {
  try {
    return decodeURI(text) !== ''
  } catch {
    return false
  }
}

const resourceUrl = webUrl()
  // The document is public.
  .refine((text) => !/^[^/]*\/\/[^/?#]*@/.test(text), 'expected a URL without user and password')
  .refine((text) => !/[#*]/.test(text), 'expected a URL without fragment and asterisk')
  .refine(isReadable, UNREADABLE)

// This scope concerns a client and the authorization server, not a resource.
const OFFLINE = 'offline_access'

const options = z.strictObject({
  resource: resourceUrl
    .optional()
    .describe(
      'the URL of the protected resource; by default the public address, else the main port, with `path`',
    ),
  path: z
    .string()
    .regex(/^\/[^*?#]*$/, 'expected a path')
    .refine(isReadable, UNREADABLE)
    .default('/')
    .describe('the path of the resource below the main port, after that of the scope'),
  realm: z.string().default('mcp').describe('the realm of the challenge'),
  resourceDocumentation: z
    .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
    .optional()
    .describe('documentation for people, named in the document'),
  scopes: z.array(scopeToken()).default([]).describe('scopes that clients should request'),
  requiredScopes: z
    .array(
      scopeToken().refine(
        (name) => name !== OFFLINE,
        `${OFFLINE} is not a scope of a resource: no token has it`,
      ),
    )
    .default([])
    .describe('scopes that every token needs; a request whose token lacks one gets a 403'),
  unavailableStatus: z
    .literal([401, 503])
    .default(401)
    .describe(
      'the status when no provider that could verify the token was reachable; after a 503 clients send the same token again',
    ),
})

export default definePlugin({
  name: 'discovery/resource',
  api: 1,
  summary:
    'Shows clients where to get a token: the protected-resource document (RFC 9728) and the challenge that points to it.',
  provides: [Challenge, ResourceMetadata],
  options,

  setup(gateway, settings) {
    const { resource, realm, requiredScopes, unavailableStatus } = settings
    const path = settings.path === '/' ? gateway.scope : gateway.scope + settings.path
    const scopes = [...new Set([...settings.scopes, ...requiredScopes])].filter((name) => name !== OFFLINE)
    const routes = new MetadataRoutes(gateway, resource === undefined ? path : pathOf(resource))
    const challenge = bearerChallenge({ realm, scopes, requiredScopes, unavailableStatus })
    gateway.provide(Challenge, challenge)
    gateway.provide(ResourceMetadata, {
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      ...(settings.resourceDocumentation !== undefined && {
        resource_documentation: settings.resourceDocumentation,
      }),
    })
    if (requiredScopes.length > 0) requireScopes(gateway, requiredScopes)

    const parts = gateway.use(ResourceMetadata)
    const publish = (url: string): void => {
      routes.publish(mergedDocument([{ resource: url }, ...parts()]))
      challenge.setMetadataUrl(metadataUrl(url))
    }
    if (resource !== undefined) {
      gateway.onStart(() => publish(resource))
      return
    }
    const addresses = gateway.use(PublicAddress)
    gateway.onStart(() => {
      singleAddress(addresses())?.watch((origin) => publish(origin + path))
    })
    // With port 0, the operating system chooses the port.
    gateway.onReady(({ main }) => {
      if (addresses().length === 0) publish(mainPort(main) + path)
    })
  },

  facts: (_place, { resource }) => ({ publicUrl: resource }),

  async examine(examination, { resource }) {
    if (resource === undefined) return
    const { examineResource } = await import('./resource/examine.js')
    await examineResource(examination, resource)
  },
})

function singleAddress(addresses: readonly PublicAddress[]): PublicAddress | undefined {
  const [address, other] = addresses
  if (other === undefined) return address
  throw new ConfigError([
    { place: 'resource', message: 'missing: expected the URL, as there is more than one public address' },
  ])
}

function mainPort(main: string | undefined): string {
  if (main !== undefined) return main
  throw new ConfigError([
    { place: 'resource', message: 'missing: expected the URL, as no main port is opened here' },
  ])
}

/** Merges several parts into one document: joins lists without repeats, and requires single values to agree. */
export function mergedDocument(parts: readonly ResourceDocument[]): ResourceDocument {
  const merged = new Map<string, ResourceDocument[string]>()
  for (const part of parts) {
    for (const [field, value] of Object.entries(part))
      merged.set(field, joined(field, merged.get(field), value))
  }
  // An empty list has to be left out (RFC 9728, 2).
  return Object.fromEntries([...merged].filter(([, value]) => !Array.isArray(value) || value.length > 0))
}

function joined(
  field: string,
  before: ResourceDocument[string] | undefined,
  value: ResourceDocument[string],
): ResourceDocument[string] {
  if (before === undefined || before === value) return value
  if (typeof before === 'object' && typeof value === 'object') return [...new Set([...before, ...value])]
  throw new ConfigError([
    { place: field, message: 'two plugins give this field of the resource metadata different values' },
  ])
}

/** Responds with 403 to a caller whose token lacks a scope, and names all required scopes. */
export function requireScopes(gateway: Gateway, required: readonly string[]): void {
  const challenge = { scope: required.join(' ') }
  const hasAll = ({ scopes = [] }: Identity): boolean => required.every((scope) => scopes.includes(scope))
  const refusalOf = ({ provider }: Identity): Refusal =>
    new Refusal(403, 'INSUFFICIENT_SCOPE', 'the token lacks a scope that is needed here', {
      challenge,
      reasons: [{ provider, cause: 'scope' }],
    })

  gateway.http.addHook('onRequest', (request, _reply, done) => {
    const { identity, isOpen } = request
    const authenticate = request.authenticate.bind(request)
    // A route below a public path may authenticate the caller itself, such as a route that writes.
    request.authenticate = async (credentials) => {
      const caller = await authenticate(credentials)
      if (hasAll(caller)) return caller
      throw refusalOf(caller)
    }
    // On a public route the gateway authenticates no caller.
    if (identity === undefined || hasAll(identity)) return done()
    if (isOpen) {
      // The route is open to all callers: a session without the scope counts as none.
      request.identity = undefined
      return done()
    }
    done(refusalOf(identity))
  })
}
