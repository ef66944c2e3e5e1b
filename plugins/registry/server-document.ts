import { z } from 'zod'
import { OFFICIAL } from '#core/toolkit/metadata-keys.js'

// The server document of the MCP registry, schema of 2025-12-11. Objects are loose: unknown fields are not validated,
// and are served as they came.

// Valid by RFC 3986 and by the URL standard: a client may check either.
const uri = z
  .string()
  .regex(/^[a-zA-Z][a-zA-Z0-9+.-]*:[!#-;=?-[\]_a-z~]*$/, 'must be a URI')
  .refine((text) => URL.canParse(text), 'must be a URI')
  .meta({ format: 'uri' })

const input = z.looseObject({
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
  value: z.string().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
})

const inputWithVariables = input.extend({ variables: z.record(z.string(), input).optional() })

const keyValue = inputWithVariables.extend({ name: z.string() })

const positional = inputWithVariables.extend({
  type: z.literal('positional'),
  valueHint: z.string().optional(),
  isRepeated: z.boolean().optional(),
})

const named = inputWithVariables.extend({
  type: z.literal('named'),
  name: z.string(),
  isRepeated: z.boolean().optional(),
})

const argument = z.union([
  positional.extend({ valueHint: z.string() }),
  positional.extend({ value: z.string() }),
  named,
])

const transportUrl = z.string().regex(/^(?:https?:\/\/\S+|\{[a-zA-Z_][a-zA-Z0-9_]*\}\S*)$/)
const stdio = z.looseObject({ type: z.literal('stdio') })
const streamable = z.looseObject({
  type: z.literal('streamable-http'),
  url: transportUrl,
  headers: z.array(keyValue).optional(),
})
const sse = streamable.extend({ type: z.literal('sse') })
const remoteVariables = { variables: z.record(z.string(), input).optional() }

const serverPackage = z.looseObject({
  registryType: z.string(),
  registryBaseUrl: uri.optional(),
  identifier: z.string(),
  version: z
    .string()
    .min(1)
    .regex(/^(?!latest$)/, 'must be a version other than "latest"')
    .optional(),
  fileSha256: z
    .string()
    .regex(/^[a-f0-9]{64}$/)
    .optional(),
  runtimeHint: z.string().optional(),
  transport: z.discriminatedUnion('type', [stdio, streamable, sse]),
  runtimeArguments: z.array(argument).optional(),
  packageArguments: z.array(argument).optional(),
  environmentVariables: z.array(keyValue).optional(),
})

const icon = z.looseObject({
  src: uri.refine((text) => text.length <= 255, 'must have 255 characters at most'),
  mimeType: z.enum(['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp']).optional(),
  sizes: z.array(z.string().regex(/^(?:\d+x\d+|any)$/)).optional(),
  theme: z.enum(['light', 'dark']).optional(),
})

const repository = z.looseObject({
  url: uri,
  source: z.string(),
  id: z.string().optional(),
  subfolder: z.string().optional(),
})

// A version "latest" would make `/versions/latest` ambiguous.
const version = z
  .string()
  .min(1)
  .max(255)
  .regex(/^(?![\^~<>=])(?!.* - )(?!.*\|\|)(?!(?:.*\.)?[xX*](?:\.|$))/, 'must be one version, not a range')
  .regex(/^(?!latest$)/, 'must be a version other than "latest"')

/** A server as its publisher describes it. */
export const serverDocument = z
  .looseObject({
    $schema: uri.optional(),
    name: z
      .string()
      .min(3)
      .max(200)
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/, 'must be namespace/name')
      .describe('reverse-DNS namespace, one slash, name'),
    description: z.string().min(1).max(100),
    title: z.string().min(1).max(100).optional(),
    version: version.describe('one version, semantic if possible'),
    repository: repository.optional(),
    websiteUrl: uri.optional(),
    icons: z.array(icon).optional(),
    packages: z.array(serverPackage).optional(),
    remotes: z
      .array(z.discriminatedUnion('type', [streamable.extend(remoteVariables), sse.extend(remoteVariables)]))
      .optional(),
    _meta: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'ServerDetail', description: 'a server as its publisher describes it' })

const moment = z.iso.datetime({ offset: true })

const lifecycle = {
  status: z.enum(['active', 'deprecated', 'deleted']).describe('the status of the version'),
  statusMessage: z.string().max(500).optional().describe('why it has this status'),
  statusChangedAt: moment.optional().describe('when the status changed'),
}

/** The registry's metadata of a version, as a source may give it. */
export const givenMetadata = z.looseObject({
  ...lifecycle,
  status: lifecycle.status.default('active'),
  publishedAt: moment.optional(),
  updatedAt: moment.optional(),
})

const official = z.strictObject({
  ...lifecycle,
  publishedAt: moment.describe('when it was added to the registry'),
  updatedAt: moment.describe('when it was last changed there'),
  isLatest: z.boolean().describe('whether it is the newest version of its server'),
})

/** A server as the registry serves it. */
export const serverResponse = z
  .looseObject({
    server: serverDocument,
    _meta: z.looseObject({ [OFFICIAL]: official }).describe('the metadata of the registry'),
  })
  .meta({ id: 'ServerResponse', description: 'a server, and the metadata of the registry' })

export const serverList = z
  .strictObject({
    servers: z.array(serverResponse),
    metadata: z.strictObject({
      count: z.int().min(0).describe('versions on this page'),
      nextCursor: z.string().optional().describe('where the next page starts; absent on the last one'),
    }),
  })
  .meta({ id: 'ServerList', description: 'a page of server versions' })
