import type { Logger } from 'pino'
import type { InFlight } from '../http/in-flight.js'
import type { HttpListener } from '../http/listener.js'
import { waitAtMost } from '../toolkit/deadline.js'
import type { GatewayInstance } from './instance.js'

// Each list keeps the memory and connections of its plugins.
const MAX_LISTS = 4

interface ReplacedList {
  readonly inFlight: InFlight
  readonly ending: AbortController
  over: Promise<void>
}

/** Lists that a reload has replaced and that still have requests. Each is stopped after its last request. */
export class ReplacedLists {
  private readonly lists = new Set<ReplacedList>()

  constructor(
    private readonly log: Logger,
    private readonly wait: number,
    private readonly limit: number,
  ) {}

  /**
   * Settles when the list has stopped; if requests are left after the wait, settles once its `onReplaced` steps have
   * run. `removed` are listeners that no later list has.
   */
  async add(instance: GatewayInstance, removed: readonly HttpListener[]): Promise<void> {
    const { inFlight } = instance
    // Requests of earlier lists may have come through the removed listeners.
    const earlier = removed.length > 0 ? [...this.lists] : []
    const ending = new AbortController()
    const { signal } = ending
    instance.beginStopping()
    if (removed.length > 0) for (const each of [...earlier, instance]) each.inFlight.endKeepAlive()
    const waited = inFlight.drain(this.wait, signal).then(() => instance.replaced())
    const finish = async (): Promise<void> => {
      await waited
      await Promise.all(earlier.map(({ over }) => over))
      await inFlight.drain(this.limit, signal)
      await end(instance, removed)
    }
    const list: ReplacedList = { inFlight, ending, over: finish().finally(() => this.lists.delete(list)) }
    this.lists.add(list)
    await waited
    if (signal.aborted || !(inFlight.mustWait || earlier.some((each) => this.lists.has(each))))
      return list.over

    this.log.info({ requests: inFlight.size }, 'requests in flight go on with the old configuration')
    const [oldest] = this.lists
    if (this.lists.size > MAX_LISTS) oldest?.ending.abort()
  }

  /** Waits at most `limit` milliseconds for the requests of all lists, and then stops the lists. */
  async stop(limit: number): Promise<void> {
    const lists = [...this.lists]
    for (const { inFlight } of lists) inFlight.endKeepAlive()
    const all = Promise.all(lists.map(({ over }) => over))
    await waitAtMost(limit, all)
    for (const { ending } of lists) ending.abort()
    await all
  }
}

async function end(instance: GatewayInstance, removed: readonly HttpListener[]): Promise<void> {
  await Promise.all(removed.map((listener) => listener.destroy()))
  await instance.inFlight.cutOff()
  await instance.stop()
}
