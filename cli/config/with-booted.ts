import { type Capability, definePlugin, type Entry, type Gateway, type List } from 'sallyport'
import { type BootContext, boot } from 'sallyport/embed'

/** A plugin that a command adds to each scope of a list, to read a value from the gateway there. */
export interface ScopeReader<Value> {
  readonly name: string
  readonly requires?: readonly Capability[]
  readonly read: (gateway: Gateway) => Value
}

/** Boots a list without ports, gives `work` the value of each scope, the root first, and then stops the list. */
export async function withBooted<Value, T>(
  listWith: (reader: Entry) => List,
  { read, ...plugin }: ScopeReader<Value>,
  context: BootContext,
  work: (values: readonly [Value, ...Value[]]) => Promise<T>,
): Promise<T> {
  const values: Value[] = []
  const setup = (gateway: Gateway): void => void values.push(read(gateway))
  const booted = await boot(listWith({ use: definePlugin({ ...plugin, api: 1, setup }) }), context)
  try {
    return await work(values as [Value, ...Value[]])
  } finally {
    await booted.stop()
  }
}
