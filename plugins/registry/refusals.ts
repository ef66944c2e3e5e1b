import { bufferOver, shared } from './names.js'

/** A document that does not go in, and why. */
export interface RefusedDocument {
  /** Its name and version, as far as they can be told. */
  readonly name: string
  readonly reason: string
}

/** What a source has that cannot be taken. There may be as much of it as there are documents. */
export interface Refusals {
  readonly count: number
  readonly first: RefusedDocument | undefined
  /** Those that nobody was told of yet, the first few of them. */
  readonly fresh: readonly RefusedDocument[]
  readonly freshCount: number
  /** All of them as JSON, for the next sync. */
  readonly list: Uint8Array
}

const MOST_TOLD = 50

export const NO_REFUSALS: Refusals = refusalsOf([], [])

/** `earlier`: what was told before. */
export function refusalsOf(all: readonly RefusedDocument[], earlier: readonly RefusedDocument[]): Refusals {
  const told = new Set(earlier.map(({ name, reason }) => `${name} ${reason}`))
  const fresh = all.filter(({ name, reason }) => !told.has(`${name} ${reason}`))
  const bytes = Buffer.from(JSON.stringify(all))
  const list = shared(bytes.length)
  list.set(bytes)
  return {
    count: all.length,
    first: all[0],
    fresh: fresh.slice(0, MOST_TOLD),
    freshCount: fresh.length,
    list,
  }
}

export const refusedIn = (list: Uint8Array): readonly RefusedDocument[] =>
  JSON.parse(bufferOver(list).toString('utf8'))

/** Of what was refused earlier: what did not come again, and did not get better. */
export function stillRefused(
  earlier: readonly RefusedDocument[],
  again: readonly RefusedDocument[],
  isHeld: (name: string, version: string) => boolean,
): readonly RefusedDocument[] {
  const names = new Set(again.map(({ name }) => name))
  return earlier.filter(({ name: label }) => {
    const [name = '', version = ''] = label.split('@', 2)
    return !names.has(label) && !isHeld(name, version)
  })
}
