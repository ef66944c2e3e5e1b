import { boot } from './boot.js'
import type { BootContext } from './boot-context.js'
import type { Booted } from './booted.js'
import type { Listener } from './contracts/listener.js'
import { ConfigError } from './errors.js'
import type { Addresses } from './gateway.js'
import { Door } from './http/sockets.js'
import { Keepsakes } from './keepsakes.js'
import type { List } from './list.js'

/** Milliseconds that requests in flight get to finish when a list is stopped or exchanged. */
const DRAIN_LIMIT = 10_000

export interface ServeContext extends BootContext {
  readonly drainLimit?: number
}

/** Boots a list, opens its doors, and keeps them open over exchanges of the list. */
export async function serve(list: List, context: ServeContext): Promise<Running> {
  const keeping = { keepsakes: new Keepsakes(), ...context }
  const booted = await boot(list, keeping)
  const running = new Running(booted, keeping)
  try {
    await running.open()
  } catch (error) {
    await running.stop(0)
    throw error
  }
  return running
}

const keyOf = ({ port, address }: Listener): string => `${port} ${address}`

export class Running {
  private doors = new Map<string, Door>()
  private busy: Promise<void> = Promise.resolve()
  private stopped = false
  private settle: { readonly end: () => void; readonly fail: (error: unknown) => void } | undefined
  /** Settles when every errand of the list in force is over; never without one. */
  readonly over = new Promise<void>((end, fail) => {
    this.settle = { end, fail }
  })
  /** Ends an exchange that is still booting when a stop comes. */
  private readonly ending = new AbortController()

  constructor(
    private booted: Booted,
    private readonly context: ServeContext,
  ) {
    // Not everybody who runs a list waits for its errands.
    this.over.catch(() => {})
  }

  get addresses(): Addresses {
    const found: { main?: string; internal?: string } = {}
    for (const [key, door] of this.doors) found[key.startsWith('main ') ? 'main' : 'internal'] ??= door.url
    const { publicOrigin } = this.booted
    return { ...found, ...(publicOrigin !== undefined && { public: publicOrigin }) }
  }

  async open(): Promise<void> {
    this.doors = await this.openDoors(this.booted)
    this.giveDoors(this.booted)
    await this.booted.ready(this.addresses)
    this.attend(this.booted)
  }

  /**
   * Boots another list beside this one and puts it under the same sockets. Until it is up the old list
   * answers; when it fails the old list goes on, and the error says why.
   */
  swap(list: List, context: BootContext = this.context): Promise<void> {
    return this.inTurn(() => this.exchange(list, context))
  }

  /** Takes no new requests, lets the ones in flight finish, then stops every plugin. */
  stop(drainLimit = this.context.drainLimit ?? DRAIN_LIMIT): Promise<void> {
    this.booted.leave()
    this.ending.abort(new Error('the gateway was stopped'))
    for (const door of this.doors.values()) door.shut()
    return this.inTurn(() => this.close(drainLimit))
  }

  private async exchange(list: List, context: BootContext): Promise<void> {
    this.ending.signal.throwIfAborted()
    const old = this.booted
    const before = this.doors
    const { signal = this.ending.signal } = context
    const { keepsakes } = this.context
    const next = await boot(list, {
      keepsakes,
      ...context,
      signal: AbortSignal.any([signal, this.ending.signal]),
    })
    try {
      this.doors = await this.openDoors(next)
      await next.ready(this.addresses)
    } catch (error) {
      const opened = [...this.doors.values()].filter((door) => ![...before.values()].includes(door))
      this.doors = before
      await closeAll(opened)
      await next.stop()
      throw error
    }

    this.booted = next
    this.giveDoors(next)
    this.attend(next)
    const kept = new Set(this.doors.values())
    const gone = [...before.values()].filter((door) => !kept.has(door))
    for (const door of gone) door.shut()
    old.leave()
    await old.inFlight.drain(this.context.drainLimit ?? DRAIN_LIMIT, gone.length > 0)
    await closeAll(gone)
    await old.stop()
  }

  private async close(drainLimit: number): Promise<void> {
    if (this.stopped) return
    this.stopped = true
    for (const door of this.doors.values()) door.shut()
    await this.booted.inFlight.drain(drainLimit, true)
    await closeAll(this.doors.values())
    await this.booted.stop()
  }

  /** The doors a list wishes for: those that stand, and the others newly opened. All or none. */
  private async openDoors({ listeners }: Booted): Promise<Map<string, Door>> {
    const doors = new Map<string, Door>()
    const opened: Door[] = []
    try {
      for (const listener of listeners) {
        refuseTwice(doors.has(keyOf(listener)), listener)
        const standing = this.doors.get(keyOf(listener)) ?? (await this.spelledOtherwise(listener))
        const door = standing ?? new Door()
        refuseTwice([...doors.values()].includes(door), listener)
        if (standing === undefined) {
          await door.open(listener)
          opened.push(door)
        }
        doors.set(keyOf(listener), door)
      }
      return doors
    } catch (error) {
      await closeAll(opened)
      throw error
    }
  }

  /** The door that stands where this one is wished, under another name of the same host: it cannot be opened twice. */
  private async spelledOtherwise({ port, address }: Listener): Promise<Door | undefined> {
    for (const [key, door] of this.doors) {
      if (key.startsWith(`${port} `) && (await door.isAt(address))) return door
    }
    return undefined
  }

  private giveDoors({ listeners, handle, handleInternal, takesUpgrades }: Booted): void {
    for (const listener of listeners) {
      const door = this.doors.get(keyOf(listener))
      if (listener.port === 'main') door?.adopt(listener, handle, takesUpgrades())
      else door?.adopt(listener, handleInternal)
    }
  }

  private attend(booted: Booted): void {
    const { errands } = booted
    if (errands.length === 0) return
    const inForce = (): boolean => this.booted === booted
    Promise.all(errands.map(({ over }) => over)).then(
      () => inForce() && this.settle?.end(),
      (error: unknown) => inForce() && this.settle?.fail(error),
    )
  }

  /** One exchange or stop at a time, in the order they were asked for. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.busy.then(work)
    this.busy = turn.catch(() => {})
    return turn
  }
}

async function closeAll(doors: Iterable<Door>): Promise<void> {
  await Promise.all([...doors].map((door) => door.destroy()))
}

function refuseTwice(isTaken: boolean, listener: Listener): void {
  if (!isTaken) return
  const message = 'two entries of the list open it; give one of them another address'
  throw new ConfigError([{ place: `address ${listener.address}`, message }])
}
