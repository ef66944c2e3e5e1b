import type { SettingPath as Path } from '../contract/list.js'
import { isJsonObject } from '../toolkit/json-object.js'

export interface WithoutFaults {
  readonly value: unknown
  /** The path in the original value: in lists, items move up to the place of removed ones. */
  written(path: Path): Path
}

/** A copy without the values at `faulty`, in which later checks can find further problems. */
export function withoutFaults(value: unknown, faulty: readonly Path[]): WithoutFaults {
  const taken = new Set(faulty.map(keyOf))
  return {
    value: without(value, [], taken),
    written: (path) => writtenPath(value, path, taken),
  }
}

function without(value: unknown, path: Path, taken: ReadonlySet<string>): unknown {
  if (taken.has(keyOf(path))) return undefined
  if (Array.isArray(value)) {
    return value
      .map((item: unknown, index) => ({ item, at: [...path, index] }))
      .filter(({ at }) => !taken.has(keyOf(at)))
      .map(({ item, at }) => without(item, at, taken))
  }
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !taken.has(keyOf([...path, key])))
  return Object.fromEntries(kept.map(([key, item]) => [key, without(item, [...path, key], taken)]))
}

function writtenPath(value: unknown, path: Path, taken: ReadonlySet<string>): Path {
  const written: (string | number)[] = []
  let here = value
  for (const step of path) {
    const original =
      Array.isArray(here) && typeof step === 'number' ? keptIndexes(here, written, taken)[step] : step
    written.push(original ?? step)
    here = valueIn(here, original ?? step)
  }
  return written
}

function keptIndexes(list: readonly unknown[], path: Path, taken: ReadonlySet<string>): readonly number[] {
  return [...list.keys()].filter((index) => !taken.has(keyOf([...path, index])))
}

/** The value of a member or item, or `undefined`. */
export function valueIn(value: unknown, step: string | number): unknown {
  if (Array.isArray(value)) return typeof step === 'number' ? value[step] : undefined
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
}

function keyOf(path: Path): string {
  return JSON.stringify(path)
}
