import type { List } from 'sallyport'
import type { Problem } from 'sallyport/problem'
import { z } from 'zod'
import type { Complaint } from './complaint.js'
import { complaintsOf } from './complaint.js'
import type { Document } from './document.js'
import type { Path } from './path.js'
import { isMapping } from './path.js'
import type { Outcome } from './settings.js'

const entry = z.strictObject({
  use: z.string().min(1).describe('a built-in name, a package, or a path that starts with ./, ../ or /'),
  with: z.unknown().optional().describe("the plugin's options"),
  id: z.string().optional().describe('tells it apart from another entry of the same plugin'),
  required: z.boolean().optional().describe('false lets the gateway start without it'),
})

const scope = z.strictObject({
  scope: z.string().describe('the path below which this list serves'),
  plugins: z.array(z.unknown()).describe('a list like the one around it'),
})

export interface RunSettings {
  readonly plugins: List
}

/** The list of plugins in a file: the whole file, or its key `plugins`. */
export function runSettings(document: Document, earlier: readonly Problem[] = []): Outcome<RunSettings> {
  const { value, folder, secrets } = document
  const isList = Array.isArray(value)
  const locate = (path: Path, part?: 'key' | 'value') => document.locate(isList ? path.slice(1) : path, part)
  const root = isList ? { plugins: value } : value
  const complaints: Complaint[] = []
  const plugins = readRoot(root, complaints)
  const problems = complaints.map(({ path, part, ...complaint }) => ({
    place: locate(path, part),
    ...complaint,
  }))
  return problems.length + earlier.length > 0
    ? { problems: [...earlier, ...problems] }
    : { settings: { plugins }, folder, secrets, locate }
}

function readRoot(root: unknown, complaints: Complaint[]): List {
  const schema = z.strictObject({
    plugins: z.array(z.unknown()).describe('the list of plugins'),
  })
  const read = schema.safeParse(root)
  if (!read.success) complaints.push(...complaintsOf(schema, root, read.error))
  const plugins = isMapping(root) ? root['plugins'] : undefined
  return Array.isArray(plugins) ? readList(plugins, ['plugins'], complaints) : []
}

// Not one recursive union: its complaint about a slip in an entry would be that it is no scope either.
function readList(items: readonly unknown[], path: Path, complaints: Complaint[]): List {
  return items.flatMap((item, index): List => {
    const at = [...path, index]
    if (!isMapping(item) || !('scope' in item)) {
      const read = readItem(entry, item, at, complaints)
      return read === undefined ? [] : [read]
    }
    const read = readItem(scope, item, at, complaints)
    const inner = Array.isArray(item['plugins']) ? item['plugins'] : []
    const plugins = readList(inner, [...at, 'plugins'], complaints)
    return read === undefined ? [] : [{ scope: read.scope, plugins }]
  })
}

function readItem<Schema extends z.ZodType>(
  schema: Schema,
  item: unknown,
  at: Path,
  complaints: Complaint[],
): z.output<Schema> | undefined {
  const read = schema.safeParse(item)
  if (read.success) return read.data
  const found = complaintsOf(schema, item, read.error)
  complaints.push(
    ...found.map((complaint) => ({
      ...complaint,
      path: [...at, ...complaint.path],
    })),
  )
  return undefined
}
