import {
  type Capability,
  ConfigError,
  type Entry,
  isScope,
  type List,
  type Log,
  type Plugin,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { createLog, isPlannedScope, type PlannedScope, planList } from 'sallyport/embed'
import type { Located } from './result.js'
import { type Taker, withBooted } from './with-booted.js'

interface PartOptions<Taken> extends Omit<Taker<Taken>, 'requires'> {
  readonly capabilities: readonly Capability[]
  /** What needs the first of them, in the root: the place of the problem where nothing there provides it. */
  readonly neededBy?: string
  /** Nothing is logged without one. */
  readonly log?: Log
}

/** Boots what provides these capabilities in a list, and nothing else of it; stops it when `work` is done. */
export async function withPart<Taken, T>(
  { settings, folder, locate }: Located<List>,
  { name, take, capabilities, neededBy, log }: PartOptions<Taken>,
  work: (taken: readonly [Taken, ...Taken[]]) => Promise<T>,
): Promise<T> {
  const context = { catalogue, folder, locate, log: log ?? createLog({ level: 'silent' }) }
  const list = neededBy === undefined ? settings : settings.filter((item) => !isScope(item))
  const requires = neededBy === undefined ? [] : capabilities.slice(0, 1)
  const plan = await planList(list, context)
  const missing = requires.find((required) => !isProvided(required, plan))
  if (neededBy !== undefined && missing !== undefined)
    throw new ConfigError([{ place: neededBy, message: `no plugin of the list provides a ${missing.name}` }])
  const partWith = (taking: Entry): List => partOfList(list, plan, capabilities, taking)
  return withBooted(partWith, { name, requires, take }, context, work)
}

/** What provides these capabilities in a list, with what it requires, and `first` at the head of each scope. */
function partOfList(
  list: List,
  { items }: PlannedScope,
  capabilities: readonly Capability[],
  first: Entry,
): List {
  const plugins = items.map((item) => (isPlannedScope(item) ? undefined : item.plugin))
  const wanted = pluginsFor(
    capabilities,
    plugins.filter((plugin) => plugin !== undefined),
  )
  const kept = list.flatMap((item, index): List => {
    const planned = items[index]
    if (isScope(item)) {
      if (planned === undefined || !isPlannedScope(planned)) return []
      return [{ scope: item.scope, plugins: partOfList(item.plugins, planned, capabilities, first) }]
    }
    const plugin = plugins[index]
    return plugin !== undefined && wanted.has(plugin) ? [item] : []
  })
  return [first, ...kept]
}

const isProvided = ({ token }: Capability, { items }: PlannedScope): boolean =>
  items.some((item) => !isPlannedScope(item) && item.plugin.provides?.some((each) => each.token === token))

function pluginsFor(capabilities: readonly Capability[], plugins: readonly Plugin[]): ReadonlySet<Plugin> {
  const wanted = new Set<Plugin>()
  const tokens = capabilities.map(({ token }) => token)
  for (const token of tokens) {
    for (const plugin of plugins) {
      if (wanted.has(plugin) || !(plugin.provides ?? []).some((provided) => provided.token === token))
        continue
      wanted.add(plugin)
      tokens.push(...(plugin.requires ?? []).map((required) => required.token))
    }
  }
  return wanted
}
