import type { ServerVersion } from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'
import { z } from 'zod'

// The fields of a document that a page shows. A field of another type is left out: the catalogue validates only fields
// of the schema, and some fields here are not in it.

const text = z.string().optional().catch(undefined)
const flag = z.boolean().optional().catch(undefined)

/** The valid items of a list. */
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(z.unknown())
    .transform((items) => items.flatMap((each) => item.safeParse(each).data ?? []))
    .optional()
    .catch(undefined)

const variable = z.object({ description: text, isSecret: flag, value: text, default: text })
const variables = z.record(z.string(), variable.catch({})).optional().catch(undefined)

const input = z.object({
  ...variable.shape,
  name: text,
  isRequired: flag,
  type: text,
  valueHint: text,
  variables,
})

const transport = z.object({ type: z.string(), url: text, headers: listOf(input), variables })

const serverPackage = z.object({
  registryType: z.string(),
  identifier: z.string(),
  version: text,
  transport,
  runtimeArguments: listOf(input),
  packageArguments: listOf(input),
  environmentVariables: listOf(input),
})

const response = z.object({
  server: z.object({
    title: text,
    description: text,
    websiteUrl: text,
    repository: z.object({ url: text }).optional().catch(undefined),
    packages: listOf(serverPackage),
    remotes: listOf(transport),
  }),
  _meta: z.object({
    [OFFICIAL]: z.object({ statusMessage: text, publishedAt: text, updatedAt: text }),
  }),
})

const summary = z.object({ server: z.object({ title: text, description: text }) })

type Response = z.output<typeof response>
export type Input = z.output<typeof input>
export type Transport = z.output<typeof transport>
export type ServerPackage = z.output<typeof serverPackage>
export type ServerDetails = Partial<Response['server'] & Response['_meta'][typeof OFFICIAL]> &
  Pick<ServerVersion, 'name' | 'version' | 'status' | 'isLatest'>

/** The fields of a version in a list. */
export type ServerSummary = Pick<
  ServerDetails,
  'name' | 'version' | 'status' | 'isLatest' | 'title' | 'description'
>

/** The fields of a version on its page; for an invalid document, only those that the catalogue knows. */
export function detailsOf(stored: ServerVersion): ServerDetails {
  const { server, _meta } = response.safeParse(jsonOf(stored)).data ?? {}
  return { ...server, ..._meta?.[OFFICIAL], ...knownOf(stored) }
}

/** Validates only two texts of each document: a document may have thousands of values, and a list many documents. */
export const summaryOf = (stored: ServerVersion): ServerSummary => ({
  ...summary.safeParse(jsonOf(stored)).data?.server,
  ...knownOf(stored),
})

const knownOf = ({ name, version, status, isLatest }: ServerVersion) => ({ name, version, status, isLatest })

function jsonOf({ json }: ServerVersion): unknown {
  try {
    return JSON.parse(Buffer.from(json).toString('utf8'))
  } catch {
    return undefined
  }
}

/** A URL that is safe as a link; undefined for `javascript:` and other schemes. */
export function webLink(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { protocol, href, username, password } = new URL(url)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  return isWeb && username === '' && password === '' ? href : undefined
}
