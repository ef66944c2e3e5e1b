import type { Entry, List, Plugin } from 'sallyport'
import type { Problem } from 'sallyport/problem'
import { z } from 'zod'
import type { Complaint } from './complaint.js'
import { complaintsOf } from './complaint.js'
import type { Document } from './document.js'
import type { Outcome } from './outcome.js'
import type { Path } from './path.js'
import { isMapping } from './path.js'

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
  const located = { settings: { plugins }, folder, secrets, locate }
  return problems.length + earlier.length > 0
    ? { problems: [...earlier, ...problems], readable: located }
    : located
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
  return items.map((item, index) => {
    const at = [...path, index]
    if (!isMapping(item) || !('scope' in item)) return readEntry(item, at, complaints)
    complain(scope, item, at, complaints)
    const { scope: prefix, plugins } = item
    const inner = Array.isArray(plugins) ? plugins : []
    return {
      scope: typeof prefix === 'string' ? prefix : `/unreadable-${index}`,
      plugins: readList(inner, [...at, 'plugins'], complaints),
    }
  })
}

/** What can be read of an entry, so that the kernel can find what else is wrong with it. */
function readEntry(item: unknown, at: Path, complaints: Complaint[]): Entry {
  complain(entry, item, at, complaints)
  const { use, with: options, id, required }: Readonly<Record<string, unknown>> = isMapping(item) ? item : {}
  return {
    use: typeof use === 'string' && use !== '' ? use : unreadable(at),
    ...(options !== undefined && { with: options }),
    ...(typeof id === 'string' && { id }),
    ...(typeof required === 'boolean' && { required }),
  }
}

// It keeps the place of an entry that does not say which plugin it wants: the others stay where they are told to be.
const unreadable = (at: Path): Plugin => ({ name: `unreadable ${at.join('.')}`, api: 1, setup() {} })

function complain(schema: z.ZodType, item: unknown, at: Path, complaints: Complaint[]): void {
  const read = schema.safeParse(item)
  if (read.success) return
  for (const complaint of complaintsOf(schema, item, read.error)) {
    complaints.push({ ...complaint, path: [...at, ...complaint.path] })
  }
}
