import type { Entry, List, Plugin, Problem, SettingPath } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import { z } from 'zod'
import { entryFields } from '#plugins/presets/settings/added-plugins.js'
import type { Complaint } from './complaint.js'
import { complaintsOf } from './complaint.js'
import type { Document } from './document.js'
import { placeOfFlag } from './plugin-flag.js'
import type { Result } from './result.js'

export const entry = z.strictObject(entryFields)

export const scope = z.strictObject({
  scope: z.string().describe('the path below which this list serves'),
  plugins: z.array(z.unknown()).describe('a list like the one around it'),
})

export interface RunSettings {
  readonly plugins: List
}

const FLAG = '--plugin'

/** The list of plugins in a file (the whole file, or its key `plugins`), and after them the plugins of flags. */
export function runSettings(
  document: Document,
  earlier: readonly Problem[] = [],
  uses: readonly string[] = [],
): Result<RunSettings> {
  const { value, folder, secrets } = document
  const isList = Array.isArray(value)
  const locate = (path: SettingPath, part?: 'key' | 'value') =>
    path[0] === FLAG ? placeOfFlag(FLAG, path.slice(1)) : document.locate(isList ? path.slice(1) : path, part)
  const root = isList ? { plugins: value } : value
  const complaints: Complaint[] = []
  const plugins = readRoot(root, complaints)
  const problems = complaints.map(({ path, part, ...complaint }) => ({
    place: locate(path, part),
    ...complaint,
  }))
  const added = uses.map((use) => ({ use, named: [FLAG], origin: { '': [FLAG, 'with'] } }))
  const entries = { settings: [...plugins, ...added], folder, secrets, locate }
  return problems.length + earlier.length > 0
    ? { problems: [...earlier, ...problems], entries }
    : { ...entries, settings: { plugins: entries.settings } }
}

function readRoot(root: unknown, complaints: Complaint[]): List {
  const schema = z.strictObject({
    plugins: z.array(z.unknown()).describe('the list of plugins'),
  })
  const read = schema.safeParse(root)
  if (!read.success) complaints.push(...complaintsOf(schema, root, read.error))
  const plugins = isJsonObject(root) ? root['plugins'] : undefined
  return Array.isArray(plugins) ? readItems(plugins, ['plugins'], complaints) : []
}

// Not one recursive union: for a mistake in an entry, a union would also report that the entry is no scope.
export function readItems(items: readonly unknown[], path: SettingPath, complaints: Complaint[]): List {
  return items.map((item, index) => {
    const at = [...path, index]
    if (!isJsonObject(item) || !('scope' in item)) return readEntry(item, at, complaints)
    addComplaints(scope, item, at, complaints)
    const { scope: prefix, plugins } = item
    const inner = Array.isArray(plugins) ? plugins : []
    return {
      scope: typeof prefix === 'string' ? prefix : `/unreadable-${index}`,
      plugins: readItems(inner, [...at, 'plugins'], complaints),
    }
  })
}

/** The readable part of an entry, so that the kernel can find its other problems. */
function readEntry(item: unknown, at: SettingPath, complaints: Complaint[]): Entry {
  addComplaints(entry, item, at, complaints)
  const {
    use,
    with: options,
    id,
    required,
  }: Readonly<Record<string, unknown>> = isJsonObject(item) ? item : {}
  return {
    use: typeof use === 'string' && use !== '' ? use : unreadable(at),
    named: [...at, 'use'],
    ...(options !== undefined && { with: options }),
    ...(typeof id === 'string' && { id }),
    ...(typeof required === 'boolean' && { required }),
  }
}

// Stands in the list for an entry without `use`, so that the other entries keep their indexes.
const unreadable = (at: SettingPath): Plugin => ({ name: `unreadable ${at.join('.')}`, api: 1, setup() {} })

function addComplaints(schema: z.ZodType, item: unknown, at: SettingPath, complaints: Complaint[]): void {
  const read = schema.safeParse(item)
  if (read.success) return
  for (const complaint of complaintsOf(schema, item, read.error)) {
    complaints.push({ ...complaint, path: [...at, ...complaint.path] })
  }
}
