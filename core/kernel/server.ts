import { setTimeout as pause } from 'node:timers/promises'
import type { Listener } from '../contract/capabilities/listener.js'
import { ConfigError } from '../contract/errors.js'
import type { Addresses } from '../contract/gateway.js'
import type { List } from '../contract/list.js'
import { HttpListener } from '../http/listener.js'
import { Sequence } from '../toolkit/sequence.js'
import { boot } from './boot.js'
import type { BootContext } from './boot-context.js'
import type { GatewayInstance } from './instance.js'
import { ReplacedLists } from './replaced-lists.js'
import { SharedResources } from './shared-resources.js'

export interface ServeContext extends BootContext {
  /** Milliseconds for requests in flight to finish when a list is stopped. The next reload waits as long for them. */
  readonly drainLimit?: number
  /** Milliseconds for requests in flight of a replaced list to finish: calls of tools may take minutes. */
  readonly replacedDrainLimit?: number
}

const DRAIN_LIMIT = 10_000
const REPLACED_DRAIN_LIMIT = 600_000

/** Boots a list, opens its ports, and keeps them open over reloads. */
export async function serve(list: List, context: ServeContext): Promise<GatewayServer> {
  const withResources = { sharedResources: new SharedResources(context.key), ...context }
  const server = new GatewayServer(await boot(list, withResources), withResources)
  try {
    await server.open()
  } catch (error) {
    await server.stop(0, 0)
    throw error
  }
  return server
}

const keyOf = ({ port, address }: Listener): string => `${port} ${address}`
const isMain = (key: string): boolean => key.startsWith('main ')

/** The open ports and the list that serves them. The list can be replaced while the ports stay open. */
export class GatewayServer {
  private listeners = new Map<string, HttpListener>()
  /** One reload or stop runs at a time, in the order of the calls. */
  private readonly sequence = new Sequence()
  private swaps = 0
  private stopped: Promise<void> | undefined
  private readonly drainLimit: number
  private readonly replaced: ReplacedLists
  private settle: { readonly end: () => void; readonly fail: (error: unknown) => void } | undefined
  /** Settles when every background task of the current list is over; never if the list has none. */
  readonly over = new Promise<void>((end, fail) => {
    this.settle = { end, fail }
  })
  /** Aborts a reload that is still booting when the gateway is stopped. */
  private readonly ending = new AbortController()

  constructor(
    private instance: GatewayInstance,
    private readonly context: ServeContext,
  ) {
    const { log, drainLimit = DRAIN_LIMIT, replacedDrainLimit = REPLACED_DRAIN_LIMIT } = context
    this.drainLimit = drainLimit
    this.replaced = new ReplacedLists(log, drainLimit, replacedDrainLimit)
    // The embedding program need not wait for `over`: a rejection must not end the process.
    this.over.catch(() => {})
  }

  get addresses(): Addresses {
    const found: { main?: string; internal?: string } = {}
    for (const [key, { url }] of this.listeners)
      if (url !== undefined) found[isMain(key) ? 'main' : 'internal'] ??= url
    const { publicOrigin } = this.instance
    return { ...found, ...(publicOrigin !== undefined && { public: publicOrigin }) }
  }

  /** Whether a plugin writes a protocol to standard output: then nothing else may be written there. */
  get keepsStdout(): boolean {
    return this.instance.keepsStdout
  }

  /** Milliseconds for which the ports still accept requests after a stop was requested. */
  get drainDelay(): number {
    return Math.max(0, ...this.instance.listeners.map(({ drainDelay = 0 }) => drainDelay))
  }

  async open(): Promise<void> {
    this.listeners = await this.openListeners(this.instance)
    this.setHandlers(this.instance)
    await this.instance.ready(this.addresses)
    this.watchTasks(this.instance)
  }

  /**
   * Reloads: boots another list beside this one and gives it the open ports. Until then the old list serves. If the
   * boot fails, the old list stays and this rejects with the reason. The next reload waits until the old list has
   * stopped, or until the drain limit has passed. If several reloads wait, the last one is served, and the others
   * resolve with false.
   */
  swap(list: List, context: BootContext = this.context): Promise<boolean> {
    const number = ++this.swaps
    return new Promise((serves, reject) => {
      const reload = async (): Promise<void> => {
        if (number < this.swaps) return serves(false)
        const retire = await this.replace(list, context)
        serves(true)
        await retire()
      }
      this.sequence.run(reload).catch(reject)
    })
  }

  /**
   * Reports that the gateway is not ready, and serves for `drainDelay` more milliseconds, until load balancers have
   * noticed. Then it accepts no new requests, lets the requests in flight finish, and stops every plugin.
   */
  stop(drainLimit = this.drainLimit, drainDelay = this.drainDelay): Promise<void> {
    this.ending.abort(new Error('the gateway was stopped'))
    this.instance.reportStopping()
    this.stopped ??= this.shutDown(drainLimit, drainDelay)
    return this.stopped
  }

  /** Replaces the list, and returns a function that ends the old one. */
  private async replace(list: List, context: BootContext): Promise<() => Promise<void>> {
    const { instance: old, listeners: before } = this
    const { signal = this.ending.signal } = context
    const next = await boot(list, {
      sharedResources: this.context.sharedResources,
      ...context,
      signal: AbortSignal.any([signal, this.ending.signal]),
    })
    try {
      this.listeners = await this.openListeners(next)
      await next.ready(this.addresses)
      this.ending.signal.throwIfAborted()
    } catch (error) {
      const opened = [...this.listeners.values()].filter(
        (listener) => ![...before.values()].includes(listener),
      )
      this.listeners = before
      await closeAll(opened)
      await next.stop()
      throw error
    }

    this.instance = next
    this.setHandlers(next)
    this.watchTasks(next)
    const kept = new Set(this.listeners.values())
    const removed = [...before.values()].filter((listener) => !kept.has(listener))
    for (const listener of removed) listener.stopAccepting()
    return () => this.replaced.add(old, removed)
  }

  private async shutDown(drainLimit: number, drainDelay: number): Promise<void> {
    if (drainDelay > 0) {
      this.context.log.info(
        { drainDelay },
        'not ready any more; the gateway still accepts requests for this time',
      )
      await pause(drainDelay)
    }
    const drained = Promise.all([this.stopAccepting(drainLimit), this.replaced.stop(drainLimit)])
    await this.sequence.run(async () => {
      // A reload that ran meanwhile may have opened other ports.
      this.stopAcceptingCallers()
      await drained
      await closeAll(this.listeners.values())
      await this.instance.inFlight.cutOff()
      await this.instance.stop()
    })
  }

  /** The internal port stays open, as it reports the requests in flight. */
  private stopAccepting(drainLimit: number): Promise<void> {
    this.instance.beginStopping()
    this.stopAcceptingCallers()
    this.instance.inFlight.endKeepAlive()
    return this.instance.inFlight.drain(drainLimit)
  }

  private stopAcceptingCallers(): void {
    for (const [key, listener] of this.listeners) if (isMain(key)) listener.stopAccepting()
  }

  /** The listeners that a list declares: opens those that are not open yet, and closes these again if one fails. */
  private async openListeners({ listeners }: GatewayInstance): Promise<Map<string, HttpListener>> {
    const found = new Map<string, HttpListener>()
    const opened: HttpListener[] = []
    try {
      for (const declared of listeners) {
        if (found.has(keyOf(declared)) || (await openAt(found.values(), declared)) !== undefined)
          throw openedTwice(declared)
        const existing = this.listeners.get(keyOf(declared)) ?? (await this.openUnderOtherName(declared))
        const listener = existing ?? new HttpListener(declared.tls, this.context.log)
        listener.checkKept(declared)
        if (existing === undefined) {
          await listener.open(declared)
          opened.push(listener)
        }
        found.set(keyOf(declared), listener)
      }
      return found
    } catch (error) {
      await closeAll(opened)
      throw error
    }
  }

  /** The open listener at the same address under another name of its host: the port cannot be opened twice. */
  private openUnderOtherName(declared: Listener): Promise<HttpListener | undefined> {
    const ofKind = [...this.listeners].filter(([key]) => key.startsWith(`${declared.port} `))
    return openAt(new Map(ofKind).values(), declared)
  }

  private setHandlers({ listeners, handle, handleInternal, takesUpgrades }: GatewayInstance): void {
    for (const declared of listeners) {
      const listener = this.listeners.get(keyOf(declared))
      if (declared.port === 'main') listener?.setHandler(declared, handle, takesUpgrades())
      else listener?.setHandler(declared, handleInternal)
    }
  }

  private watchTasks(instance: GatewayInstance): void {
    const { backgroundTasks } = instance
    if (backgroundTasks.length === 0) return
    const isCurrent = (): boolean => this.instance === instance
    Promise.all(backgroundTasks.map(({ over }) => over)).then(
      () => isCurrent() && this.settle?.end(),
      (error: unknown) => isCurrent() && this.settle?.fail(error),
    )
  }
}

async function closeAll(listeners: Iterable<HttpListener>): Promise<void> {
  await Promise.all([...listeners].map((listener) => listener.destroy()))
}

async function openAt(
  listeners: Iterable<HttpListener>,
  { address }: Listener,
): Promise<HttpListener | undefined> {
  for (const listener of listeners) if (await listener.isAt(address)) return listener
  return undefined
}

function openedTwice({ address }: Listener): ConfigError {
  const message = 'two entries of the list open this address: give one of them another'
  return new ConfigError([{ place: `address ${address}`, message }])
}
