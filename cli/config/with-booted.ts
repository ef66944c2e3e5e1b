import { type Capability, definePlugin, type Entry, type Gateway, type List } from 'sallyport'
import { type BootContext, boot } from 'sallyport/embed'

/** A plugin of a command, which stands in a list to take something of it. */
export interface Taker<Taken> {
  readonly name: string
  readonly requires?: readonly Capability[]
  readonly take: (gateway: Gateway) => Taken
}

/** Boots a list without ports, and stops it when `work` is done with what was taken at each place of the entry, the root first. */
export async function withBooted<Taken, T>(
  listWith: (taking: Entry) => List,
  { take, ...plugin }: Taker<Taken>,
  context: BootContext,
  work: (taken: readonly [Taken, ...Taken[]]) => Promise<T>,
): Promise<T> {
  const taken: Taken[] = []
  const setup = (gateway: Gateway): void => void taken.push(take(gateway))
  const booted = await boot(listWith({ use: definePlugin({ ...plugin, api: 1, setup }) }), context)
  try {
    return await work(taken as [Taken, ...Taken[]])
  } finally {
    await booted.stop()
  }
}
