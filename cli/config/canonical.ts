import type { Entry, List, Scope } from 'sallyport'
import { isScope } from 'sallyport'
import type { BootContext, PlannedEntry, PlannedScope } from 'sallyport/embed'
import { isPlannedScope, jsonSchemaOf, planList, redact } from 'sallyport/embed'
import { stringify } from 'yaml'
import { hidden } from './hidden.js'

/** A list as a file of `sallyport run`, secrets as `***`. The list is loaded and checked, but not booted. */
export async function canonicalText(
  list: List,
  secrets: ReadonlySet<string>,
  context: BootContext,
): Promise<string> {
  const plan = await planList(list, context)
  // A value from the environment or a file is a secret everywhere, also inside a longer text.
  for (const secret of secrets) hidden.add(secret)
  const plugins = escaped(hidden.value(listed(list, plan), true))
  return stringify({ plugins }, { lineWidth: 0 })
}

/** Escapes `${`: the values of a list hold no references, so the file must not either. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', '$$$${')
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escaped(item)]))
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
