import type { BootContext, Entry, List, PlannedEntry, PlannedScope, Scope } from 'sallyport'
import { isPlannedScope, isScope, jsonSchemaOf, planList, redact } from 'sallyport'
import { stringify } from 'yaml'

/** A list as `sallyport run` would read it, secrets as `***`. It is loaded and checked, and not booted. */
export async function canonicalText(
  list: List,
  secrets: ReadonlySet<string>,
  context: BootContext,
): Promise<string> {
  const plan = await planList(list, context)
  return stringify({ plugins: hidden(listed(list, plan), secrets) }, { lineWidth: 0 })
}

function listed(list: List, { items }: PlannedScope): unknown[] {
  return list.map((item, index) => {
    const planned = items[index]
    if (planned === undefined || isScope(item) !== isPlannedScope(planned))
      throw new TypeError('the plan is of another list')
    return isPlannedScope(planned) ? listedScope(item as Scope, planned) : listedEntry(item as Entry, planned)
  })
}

const listedScope = ({ scope, plugins }: Scope, planned: PlannedScope): object => ({
  scope,
  plugins: listed(plugins, planned),
})

function listedEntry({ use, with: options, required }: Entry, { id, plugin }: PlannedEntry): object {
  return {
    use: typeof use === 'string' ? use : plugin.name,
    ...(id !== plugin.name && { id }),
    ...(required === false && { required }),
    ...(options !== undefined && { with: redact(options, jsonSchemaOf(plugin.options)) }),
  }
}

/** What came from the environment or a file is a secret wherever it was put, also inside a longer text. */
function hidden(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    return [...secrets]
      .filter((secret) => secret !== '')
      .reduce((text, secret) => text.replaceAll(secret, '***'), value)
  }
  if (Array.isArray(value)) return value.map((item) => hidden(item, secrets))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hidden(item, secrets)]))
}
