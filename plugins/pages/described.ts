import type { ServerVersion } from 'sallyport'
import { z } from 'zod'

// What a page reads of a document. The rest is served by the API and not looked at here.

const input = z.object({
  name: z.string().optional(),
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  isSecret: z.boolean().optional(),
  value: z.string().optional(),
  default: z.string().optional(),
  type: z.string().optional(),
  valueHint: z.string().optional(),
})

const transport = z.object({
  type: z.string(),
  url: z.string().optional(),
  headers: z.array(input).optional(),
})

const serverPackage = z.object({
  registryType: z.string(),
  identifier: z.string(),
  version: z.string().optional(),
  transport,
  runtimeArguments: z.array(input).optional(),
  packageArguments: z.array(input).optional(),
  environmentVariables: z.array(input).optional(),
})

const answer = z.object({
  server: z.object({
    name: z.string(),
    version: z.string(),
    title: z.string().optional(),
    description: z.string(),
    websiteUrl: z.string().optional(),
    repository: z.object({ url: z.string().optional() }).optional(),
    packages: z.array(serverPackage).optional(),
    remotes: z.array(transport).optional(),
  }),
  _meta: z.object({
    'io.modelcontextprotocol.registry/official': z.object({
      status: z.string(),
      statusMessage: z.string().optional(),
      updatedAt: z.string(),
    }),
  }),
})

type Answer = z.output<typeof answer>
export type Input = z.output<typeof input>
export type Transport = z.output<typeof transport>
export type ServerPackage = z.output<typeof serverPackage>
export type Described = Answer['server'] &
  Answer['_meta']['io.modelcontextprotocol.registry/official'] & { readonly isLatest: boolean }

/** What a page shows of a version. */
export function described({ json, isLatest }: ServerVersion): Described {
  const { server, _meta } = answer.parse(JSON.parse(Buffer.from(json).toString('utf8')))
  return { ...server, ..._meta['io.modelcontextprotocol.registry/official'], isLatest }
}

/** A link that is safe to follow, or nothing: `javascript:` and its like never reach a page. */
export function webLink(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { protocol, href, username, password } = new URL(url)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  return isWeb && username === '' && password === '' ? href : undefined
}
