import type { RefusedDocument } from 'sallyport'

/** The refused documents of a source. */
export interface Refusals {
  readonly count: number
  readonly first: RefusedDocument | undefined
  /** The first few that the previous sync did not refuse, for the log. */
  readonly fresh: readonly RefusedDocument[]
  readonly freshCount: number
  /** All refused documents, for the next sync. */
  readonly list: readonly RefusedDocument[]
}

const MAX_LOGGED = 50

export const NO_REFUSALS: Refusals = refusalsOf([], [])

/** `earlier`: the documents that the previous sync refused. */
export function refusalsOf(all: readonly RefusedDocument[], earlier: readonly RefusedDocument[]): Refusals {
  const known = new Set(earlier.map(textOf))
  const fresh = all.filter((each) => !known.has(textOf(each)))
  return {
    count: all.length,
    first: all[0],
    fresh: fresh.slice(0, MAX_LOGGED),
    freshCount: fresh.length,
    list: all,
  }
}

/** The document and the reason, in one sentence. */
export function textOf(refused: RefusedDocument | undefined): string {
  return refused === undefined ? '' : `${refused.name}: ${reasonIn(refused)}`
}

/** The reason, with the file. */
export const reasonIn = ({ reason, position }: RefusedDocument): string =>
  position === undefined ? reason : `${reason}, in ${position.file}`

/** The documents refused earlier that the source has neither given again nor corrected. */
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

/**
 * Refused documents are not stored: after a restart or reload the gateway reads the whole source to find them again.
 */
export const resumable = (bookmark: string | undefined, { count }: Refusals): string | undefined =>
  count === 0 ? bookmark : undefined
