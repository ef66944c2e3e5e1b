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
import { type ScopeReader, withBooted } from './with-booted.js'

interface PartOptions<Value> extends Omit<ScopeReader<Value>, 'requires'> {
  readonly capabilities: readonly Capability[]
  /** The place of the problem when no plugin of the root provides the first capability. Undefined: none is required. */
  readonly neededBy?: string
  /** Without it, nothing is logged. */
  readonly log?: Log
}

/** Boots only the plugins of a list that provide these capabilities, and stops them when `work` is done. */
export async function withPart<Value, T>(
  { settings, folder, locate }: Located<List>,
  { name, read, capabilities, neededBy, log }: PartOptions<Value>,
  work: (values: readonly [Value, ...Value[]]) => Promise<T>,
): Promise<T> {
  const context = { catalogue, folder, locate, log: log ?? createLog({ level: 'silent' }) }
  const list = neededBy === undefined ? settings : settings.filter((item) => !isScope(item))
  const requires = neededBy === undefined ? [] : capabilities.slice(0, 1)
  const plan = await planList(list, context)
  const missing = requires.find((required) => !isProvided(required, plan))
  if (neededBy !== undefined && missing !== undefined)
    throw new ConfigError([{ place: neededBy, message: `no plugin of the list provides a ${missing.name}` }])
  const partWith = (reader: Entry): List => partOfList(list, plan, capabilities, reader)
  return withBooted(partWith, { name, requires, read }, context, work)
}

/** `first` at the head of each scope, the plugins that provide these capabilities, and the plugins these require. */
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
