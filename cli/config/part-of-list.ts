import { type Capability, ConfigError, type Entry, isScope, type List, type Plugin } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { boot, createLog, isPlannedScope, type PlannedScope, planList } from 'sallyport/embed'
import type { Located } from './result.js'

interface PartOptions {
  /** What needs the first capability, for the message where nothing provides it. */
  readonly neededBy?: string
  readonly capabilities: readonly Capability[]
  /** What uses them, at the head of each scope. */
  readonly user: () => Entry
  readonly logLevel?: 'warn'
}

/** Boots what provides these capabilities in a list, and nothing else of it; stops it when `work` is done. */
export async function withPart<T>(
  { settings, folder, locate }: Located<List>,
  { neededBy, capabilities, user, logLevel }: PartOptions,
  work: () => Promise<T>,
): Promise<T> {
  const context = { catalogue, folder, locate, log: createLog({ level: logLevel ?? 'silent' }) }
  const plan = await planList(settings, context)
  const [first] = capabilities
  if (neededBy !== undefined && first !== undefined && !isProvided(first, plan)) {
    throw new ConfigError([{ place: neededBy, message: `no plugin of the list provides a ${first.name}` }])
  }
  const booted = await boot(partOfList(settings, plan, capabilities, user), context)
  try {
    return await work()
  } finally {
    await booted.stop()
  }
}

/** What provides these capabilities in a list, with what it requires, and `first` at the head of each scope. */
function partOfList(
  list: List,
  { items }: PlannedScope,
  capabilities: readonly Capability[],
  first: () => Entry,
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
  return [first(), ...kept]
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
