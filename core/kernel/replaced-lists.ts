import type { Logger } from 'pino'
import type { InFlight } from '../http/in-flight.js'
import type { HttpListener } from '../http/listener.js'
import { waitAtMost } from '../toolkit/deadline.js'
import type { GatewayInstance } from './instance.js'

// Each holds what its plugins hold.
const MAX_LISTS = 4

interface ReplacedList {
  readonly inFlight: InFlight
  readonly ending: AbortController
  over: Promise<void>
}

/** Lists that a reload has replaced, and whose requests last: each is stopped when it has none left. */
export class ReplacedLists {
  private readonly lists = new Set<ReplacedList>()

  constructor(
    private readonly log: Logger,
    private readonly wait: number,
    private readonly limit: number,
  ) {}

  /**
   * Settles when the list has stopped. When its requests last, what it does beside them ends, and this settles before.
   * `gone` are listeners that no later list has.
   */
  async add(instance: GatewayInstance, gone: readonly HttpListener[]): Promise<void> {
    const { inFlight } = instance
    // Their requests may have come by the listeners that are gone now.
    const earlier = gone.length > 0 ? [...this.lists] : []
    const ending = new AbortController()
    const { signal } = ending
    instance.beginStopping()
    if (gone.length > 0) for (const each of [...earlier, instance]) each.inFlight.endKeepAlive()
    const waited = inFlight.drain(this.wait, signal).then(() => instance.replaced())
    const finish = async (): Promise<void> => {
      await waited
      await Promise.all(earlier.map(({ over }) => over))
      await inFlight.drain(this.limit, signal)
      await end(instance, gone)
    }
    const list: ReplacedList = { inFlight, ending, over: finish().finally(() => this.lists.delete(list)) }
    this.lists.add(list)
    await waited
    if (signal.aborted || !(inFlight.mustWait || earlier.some((each) => this.lists.has(each))))
      return list.over

    this.log.info({ requests: inFlight.size }, 'requests go on with the configuration before')
    const [oldest] = this.lists
    if (this.lists.size > MAX_LISTS) oldest?.ending.abort()
  }

  /** Gives the requests of all lists so many milliseconds. */
  async stop(limit: number): Promise<void> {
    const lists = [...this.lists]
    for (const { inFlight } of lists) inFlight.endKeepAlive()
    const all = Promise.all(lists.map(({ over }) => over))
    await waitAtMost(limit, all)
    for (const { ending } of lists) ending.abort()
    await all
  }
}

async function end(instance: GatewayInstance, gone: readonly HttpListener[]): Promise<void> {
  await Promise.all(gone.map((listener) => listener.destroy()))
  await instance.inFlight.cutOff()
  await instance.stop()
}
