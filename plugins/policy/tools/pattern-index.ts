import { type Glob, matchesGlob } from 'sallyport/toolkit'
import type { CompiledPattern } from './compiled-pattern.js'
import type { UriReadings } from './uri.js'

/** The state of each rule for a caller, by the index of the rule. */
export type RuleStates = Uint8Array

/** Finds the patterns that match, among those of one kind that all allow or all deny. */
export interface PatternIndex<Name> {
  /** A matching pattern whose rule has this state for the caller. */
  first(name: Name, states: RuleStates, state: number): CompiledPattern | undefined
  all(name: Name): readonly CompiledPattern[]
}

/** Patterns by the text that a name begins or ends with. These texts have few different lengths. */
class Affixes {
  private readonly patterns = new Map<string, CompiledPattern[]>()
  private readonly lengths: number[] = []

  constructor(private readonly affixOf: (name: string, length: number) => string) {}

  add(affix: string, pattern: CompiledPattern): void {
    append(this.patterns, affix, pattern)
    if (!this.lengths.includes(affix.length)) this.lengths.push(affix.length)
  }

  first(name: string, states: RuleStates, state: number): CompiledPattern | undefined {
    for (const length of this.lengths) {
      const found = withState(this.at(name, length), states, state)
      if (found !== undefined) return found
    }
    return undefined
  }

  all(name: string): readonly CompiledPattern[] {
    return this.lengths.flatMap((length) => this.at(name, length) ?? [])
  }

  private at(name: string, length: number): readonly CompiledPattern[] | undefined {
    return length > name.length ? undefined : this.patterns.get(this.affixOf(name, length))
  }
}

type Entry = readonly [glob: Glob, pattern: CompiledPattern]

/**
 * Patterns of tools and prompts. With a hundred rules a judgement takes 0.5 µs; trying each pattern would take 4 µs.
 */
export class NameIndex implements PatternIndex<string> {
  private readonly exact = new Map<string, CompiledPattern[]>()
  /** Most patterns have their only star at the end, or at the start. */
  private readonly prefixed = new Affixes((name, length) => name.slice(0, length))
  private readonly suffixed = new Affixes((name, length) => name.slice(-length))
  private readonly others: Entry[] = []

  constructor(entries: readonly Entry[]) {
    for (const [glob, pattern] of entries) {
      const [first, last, ...rest] = glob
      if (last === undefined) append(this.exact, first, pattern)
      else if (rest.length === 0 && last === '') this.prefixed.add(first, pattern)
      else if (rest.length === 0 && first === '') this.suffixed.add(last, pattern)
      else this.others.push([glob, pattern])
    }
  }

  first(name: string, states: RuleStates, state: number): CompiledPattern | undefined {
    const found =
      withState(this.exact.get(name), states, state) ??
      this.prefixed.first(name, states, state) ??
      this.suffixed.first(name, states, state)
    if (found !== undefined) return found
    for (const [glob, pattern] of this.others)
      if (states[pattern.rule] === state && matchesGlob(glob, name)) return pattern
    return undefined
  }

  all(name: string): readonly CompiledPattern[] {
    const found = [...(this.exact.get(name) ?? []), ...this.prefixed.all(name), ...this.suffixed.all(name)]
    for (const [glob, pattern] of this.others) if (matchesGlob(glob, name)) found.push(pattern)
    return found.length < 2 ? found : found.toSorted((one, other) => one.rule - other.rule)
  }
}

function append(map: Map<string, CompiledPattern[]>, key: string, pattern: CompiledPattern): void {
  const same = map.get(key)
  if (same === undefined) map.set(key, [pattern])
  else same.push(pattern)
}

function withState(
  patterns: readonly CompiledPattern[] | undefined,
  states: RuleStates,
  state: number,
): CompiledPattern | undefined {
  if (patterns !== undefined)
    for (const pattern of patterns) if (states[pattern.rule] === state) return pattern
  return undefined
}

/** Patterns of resources and templates that a rule denies. */
export class DeniedUris implements PatternIndex<UriReadings> {
  private readonly forms: NameIndex

  constructor(patterns: readonly CompiledPattern[]) {
    this.forms = new NameIndex(
      patterns.flatMap((pattern) =>
        pattern.kind === 'resource' ? pattern.uri.denied.map((glob): Entry => [glob, pattern]) : [],
      ),
    )
  }

  first({ denied }: UriReadings, states: RuleStates, state: number): CompiledPattern | undefined {
    for (const text of denied) {
      const found = this.forms.first(text, states, state)
      if (found !== undefined) return found
    }
    return undefined
  }

  all({ denied }: UriReadings): readonly CompiledPattern[] {
    const found = new Set(denied.flatMap((text) => this.forms.all(text)))
    return [...found].toSorted((one, other) => one.rule - other.rule)
  }
}

/** Patterns of resources and templates that a rule allows. */
export class AllowedUris implements PatternIndex<UriReadings> {
  private readonly written: NameIndex

  constructor(private readonly patterns: readonly CompiledPattern[]) {
    this.written = new NameIndex(
      patterns.flatMap((pattern) =>
        pattern.kind === 'resource' ? pattern.uri.written.map((glob): Entry => [glob, pattern]) : [],
      ),
    )
  }

  first(uri: UriReadings, states: RuleStates, state: number): CompiledPattern | undefined {
    return this.candidates(uri).find((pattern) => states[pattern.rule] === state && allows(pattern, uri))
  }

  all(uri: UriReadings): readonly CompiledPattern[] {
    return this.candidates(uri).filter((pattern) => allows(pattern, uri))
  }

  private candidates({ written: [name, ...more] }: UriReadings): readonly CompiledPattern[] {
    return more.length === 0 ? this.written.all(name) : this.patterns
  }
}

const allows = (pattern: CompiledPattern, uri: UriReadings): boolean =>
  pattern.kind === 'resource' && pattern.uri.allows(uri)
