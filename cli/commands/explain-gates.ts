import {
  Authenticator,
  boot,
  createLog,
  definePlugin,
  type Entry,
  IssuerMetadata,
  isPlannedScope,
  isScope,
  type List,
  type PlannedScope,
  type Plugin,
  planList,
} from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { Located } from '../config/outcome.js'

/** Who is asked about a token in one scope, in order. */
export interface Gate {
  readonly scope: string
  readonly authenticators: readonly Authenticator[]
}

/** Boots what stands at the gates of a list, and nothing else of it; stops it when `work` is done. */
export async function withGates<T>(
  { settings: list, folder, locate }: Located<List>,
  work: (gates: readonly Gate[]) => Promise<T>,
): Promise<T> {
  const context = { catalogue, folder, locate, log: createLog({ level: 'silent' }) }
  const plan = await planList(list, context)
  const gates: Gate[] = []
  const booted = await boot(gateOnly(list, plan, gates), context)
  try {
    return await work(gates)
  } finally {
    await booted.stop()
  }
}

/** The authenticators of a list, with whatever they need, and at the head of each scope one that notes who is there. */
function gateOnly(list: List, { items }: PlannedScope, gates: Gate[]): List {
  const plugins = items.map((item) => (isPlannedScope(item) ? undefined : item.plugin))
  const wanted = neededBy(plugins.filter((plugin) => plugin !== undefined))
  const kept = list.flatMap((item, index): List => {
    const planned = items[index]
    if (isScope(item)) {
      if (planned === undefined || !isPlannedScope(planned)) return []
      return [{ scope: item.scope, plugins: gateOnly(item.plugins, planned, gates) }]
    }
    const plugin = plugins[index]
    return plugin !== undefined && wanted.has(plugin) ? [item] : []
  })
  return [noting(gates), ...kept]
}

function neededBy(plugins: readonly Plugin[]): ReadonlySet<Plugin> {
  const wanted = new Set<Plugin>()
  const tokens = [Authenticator.token, IssuerMetadata.token]
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

function noting(gates: Gate[]): Entry {
  const use = definePlugin({
    name: 'explain',
    api: 1,
    setup(gateway) {
      const authenticators = gateway.use(Authenticator)
      gateway.onStart(() => void gates.push({ scope: gateway.scope, authenticators: authenticators() }))
    },
  })
  return { use }
}
