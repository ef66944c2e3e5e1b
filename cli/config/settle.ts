import type { Problem } from 'sallyport/problem'
import type { z } from 'zod'
import { complaintsOf, valueAt } from './complaint.js'
import type { Located, Outcome } from './outcome.js'
import type { Path } from './path.js'
import { salvage } from './salvage.js'

/** What was written, and where. */
export type Written = Omit<Located<unknown>, 'settings' | 'locate'> & {
  readonly value: unknown
  locate(path: Path, part?: 'key' | 'value'): string
}

// Each finds what the one before it hid: slips of form, then rules between what is left.
const ROUNDS = 5

/**
 * Reads settings by their schema. A schema stops at the first layer of mistakes, so what is wrong is taken out
 * and the rest is read again: the report holds everything, and what was read so is never booted.
 */
export function settle<Schema extends z.ZodType>(
  schema: Schema,
  written: Written,
  earlier: readonly Problem[] = [],
): Outcome<z.output<Schema>> {
  const { folder, secrets } = written
  const told = new Set(earlier.map(({ place }) => place))
  const faulty: Path[] = []
  const problems: Problem[] = []
  let { value } = written
  let whole = (path: Path): Path => path

  for (let round = 0; round < ROUNDS; round++) {
    const read = schema.safeParse(value)
    const toWritten = whole
    const locate = (path: Path): string => written.locate(toWritten(path))
    if (read.success) {
      const settled = { settings: read.data, folder, secrets, locate }
      const wrong = [...earlier, ...problems]
      return wrong.length === 0 ? settled : { problems: wrong, readable: settled }
    }
    const complaints = complaintsOf(schema, value, read.error)
    for (const { path, part, ...complaint } of complaints) {
      const at = toWritten(path)
      const place = written.locate(at, part)
      // A reference that led nowhere has left a wrong value behind, and what was taken out is missed: told once.
      if (told.has(place) || faulty.some((above) => isWithin(at, above))) continue
      // A list that is empty only because its items were taken out is told by them.
      if (isEmptyList(valueAt(value, path)) && faulty.some((below) => isWithin(below, at))) continue
      problems.push({ place, ...complaint })
    }
    // What is missing because it was taken out takes with it what cannot be without it.
    const before = value
    const taken = complaints.map(({ path }) =>
      path.length > 1 && valueAt(before, path) === undefined ? path.slice(0, -1) : path,
    )
    faulty.push(...taken.map(toWritten))
    const rest = salvage(value, taken)
    value = rest.value
    whole = (path) => toWritten(rest.written(path))
  }
  return { problems: [...earlier, ...problems] }
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const isWithin = (path: Path, above: Path): boolean => above.every((step, index) => path[index] === step)
