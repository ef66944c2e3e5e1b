import type { Address, GivenOptions, Option, OptionGroup, OptionType, Pair } from './option.js'

interface ReadAs extends Record<OptionType, unknown> {
  boolean: boolean
  string: string
  int: number
  count: number | 'auto'
  port: number
  url: string
  /** Milliseconds. */
  duration: number
  /** Bytes. */
  size: number
  address: Address
  list: readonly string[]
  repeatable: readonly string[]
  pair: readonly Pair[]
  choice: string
}

type ValueOf<O> = O extends { type: 'choice'; choices: readonly (infer C)[] }
  ? C
  : O extends { type: infer T extends OptionType }
    ? ReadAs[T]
    : never

type AlwaysThere =
  | { type: 'boolean' | 'list' | 'repeatable' | 'pair' }
  | { default: string }
  | { required: true }

type OptionIn<G extends readonly OptionGroup[]> = G[number]['options'][number]

/** The values of some groups by the flags' names, typed by the table that read them. */
export type Values<G extends readonly OptionGroup[]> = {
  readonly [O in OptionIn<G> as O['name']]: O extends AlwaysThere ? ValueOf<O> : ValueOf<O> | undefined
}

/** What was given for the options of `groups`, which are groups of the command that was parsed. */
export function valuesOf<const G extends readonly OptionGroup[]>(groups: G, given: GivenOptions): Values<G> {
  const options = groups.flatMap((group) => group.options)
  const values: object = Object.fromEntries(options.map(({ name }) => [name, given.get(name)?.value]))
  if (!isRead<G>(values, options, given)) throw new TypeError('these options belong to another command')
  return values
}

function isRead<G extends readonly OptionGroup[]>(
  values: object,
  options: readonly Option[],
  given: GivenOptions,
): values is Values<G> {
  return options.every(({ name, required, default: fallback }) => {
    const always = required === true || fallback !== undefined
    return name in values && (!always || given.has(name))
  })
}
