import type { Problem, SettingPath } from 'sallyport'
import type { z } from 'zod'
import { complaintsOf } from './complaint.js'
import type { Located, Result } from './result.js'

/** An unchecked value, and the places of its settings. */
export type Written = Omit<Located<unknown>, 'settings' | 'locate'> & {
  readonly value: unknown
  readonly locate: (path: SettingPath, part?: 'key' | 'value') => string
}

/** Reads settings by their schema. Rules between sections are checked once each section is valid. */
export function resolveSettings<Schema extends z.ZodType>(
  schema: Schema,
  { value, folder, secrets, locate }: Written,
  earlier: readonly Problem[] = [],
): Result<z.output<Schema>> {
  const read = schema.safeParse(value)
  if (read.success)
    return earlier.length > 0 ? { problems: earlier } : { settings: read.data, folder, secrets, locate }
  // An unresolved reference leaves a wrong value; its place is reported once.
  const reported = new Set(earlier.map(({ place }) => place))
  const found = complaintsOf(schema, value, read.error)
    .map(({ path, part, ...complaint }) => ({ place: locate(path, part), ...complaint }))
    .filter(({ place }) => !reported.has(place))
  return { problems: [...earlier, ...found] }
}
