import type { Problem, SettingPath } from 'sallyport'
import type { z } from 'zod'
import { FaultFinder } from '#core/kernel/find-faults.js'
import { complaintsOf } from './complaint.js'
import type { Located, Result } from './result.js'

/** What was written, and where. */
export type Written = Omit<Located<unknown>, 'settings' | 'locate'> & {
  readonly value: unknown
  locate(path: SettingPath, part?: 'key' | 'value'): string
}

// Each finds what the one before hid: mistakes of form first, then rules between several settings.
const ROUNDS = 10

/** Reads settings by their schema, and finds everything that is wrong. Settings with problems are never booted. */
export function resolveSettings<Schema extends z.ZodType>(
  schema: Schema,
  written: Written,
  earlier: readonly Problem[] = [],
): Result<z.output<Schema>> {
  const { folder, secrets } = written
  // An unresolved reference leaves a wrong value: reported once.
  const reported = new Set(earlier.map(({ place }) => place))
  const problems: Problem[] = [...earlier]
  const finder = new FaultFinder(written.value)

  for (let round = 0; round < ROUNDS; round++) {
    const read = schema.safeParse(finder.value)
    if (read.success) {
      // What a plugin finds below a fault is reported with that fault.
      const locate = (path: SettingPath): string => {
        const at = finder.written(path)
        return written.locate(finder.reported(at) ?? at)
      }
      const located = { settings: read.data, folder, secrets, locate }
      return round === 0 && problems.length === 0 ? located : { problems, readable: located }
    }
    const complaints = complaintsOf(schema, finder.value, read.error, written.value)
    for (const { path, part, expected: _, isConsequence, ...complaint } of finder.take(complaints)) {
      const place = written.locate(path, part)
      if (isConsequence !== true && !reported.has(place)) problems.push({ place, ...complaint })
    }
  }
  return { problems }
}
