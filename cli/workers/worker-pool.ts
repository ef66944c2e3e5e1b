import { setTimeout as pause } from 'node:timers/promises'
import { type Addresses, GatewayError, type HealthState, type Log } from 'sallyport'
import { meterDroppedLines } from 'sallyport/embed'
import { Handover } from './handover.js'
import { InternalFanout, isExposition } from './internal-fanout.js'
import { errorOf, type ToPrimary, type WorkerConfig, type WorkerResponse } from './messages.js'
import { MetricsMerge } from './metrics-merge.js'
import { PrimaryMeter } from './primary-meter.js'
import { startWatchdog } from './watchdog.js'
import type { WorkerExit, WorkerHandle } from './worker-handle.js'
import { WorkerSlot } from './worker-slot.js'

// Workers are stopped one after the other; so long in all, as a slow one must not use up the time of the next.
const STOP_STAGGER = 1_000
// A drain, and then the stop of every plugin.
const STOP_TIMEOUT = 25_000

/** Keeps a number of worker processes alive, with the current list. */
export class WorkerPool {
  /** All workers are ready for the first time; rejects when they will never be. */
  readonly ready: Promise<Addresses>
  /** Rejects when new workers can be expected to die as well. */
  readonly failed: Promise<never>
  private readonly slots: readonly WorkerSlot[]
  private readonly metrics = new MetricsMerge()
  private readonly meter = new PrimaryMeter()
  private readonly restarts = restartsIn(this.meter)
  private readonly internal = new InternalFanout(this, this.metrics, () => this.meter.text())
  private readonly ending = new AbortController()
  private addresses: Addresses | undefined
  private readonly stopWatchdog: () => void
  private complete = false
  private stopping = false
  private resolveReady: (addresses: Addresses) => void = () => {}
  private rejectFailed: (error: Error) => void = () => {}

  constructor(
    count: number,
    private config: WorkerConfig,
    private readonly log: Log,
  ) {
    const handover = new Handover()
    this.slots = Array.from({ length: count }, (_, index) => new WorkerSlot(index + 1, handover))
    this.failed = new Promise((_, reject) => {
      this.rejectFailed = reject
    })
    this.ready = Promise.race([
      this.failed,
      new Promise<Addresses>((resolve) => {
        this.resolveReady = resolve
      }),
    ])
    meterDroppedLines(log, this.meter)
    this.stopWatchdog = startWatchdog(() => this.handles, log)
    // Awaited only for a time; a later rejection would count as unhandled.
    for (const promise of [this.ready, this.failed]) promise.catch(() => {})
  }

  start(): void {
    for (const slot of this.slots) this.startWorker(slot)
  }

  get handles(): readonly WorkerHandle[] {
    return this.slots.flatMap(({ handle }) => handle ?? [])
  }

  get health(): HealthState {
    const ready = this.readyHandles.length
    if (this.stopping) return { status: 'down', reason: 'stopping' }
    if (!this.complete) return { status: 'down', reason: 'starting' }
    if (ready === this.slots.length) return { status: 'ok' }
    return {
      status: ready === 0 ? 'down' : 'degraded',
      reason: `${ready} of ${this.slots.length} take requests`,
    }
  }

  /** Gives all workers another list, one after the other. When the first of them fails, nothing changes. */
  async swap(config: WorkerConfig): Promise<void> {
    const [first] = this.readyHandles
    // Without a ready worker, the first that becomes ready tells the addresses.
    this.addresses = await first?.swap(config, false)
    this.config = config
    // A worker that became ready meanwhile has the previous list.
    for (let handle = this.outdated(); handle !== undefined; handle = this.outdated())
      await this.update(handle)
  }

  /** Stops one worker after the other, so that the port is served as long as possible; first `drains` the load balancers. */
  async stop(drains: boolean): Promise<void> {
    this.stopping = true
    const isServing = drains && this.complete
    const drainDelay = isServing ? Math.max(0, ...this.readyHandles.map((one) => one.drainDelay)) : 0
    if (drainDelay > 0) {
      this.log.info({ drainDelay }, 'not ready any more; requests are accepted for this long')
      await pause(drainDelay)
    }
    this.ending.abort()
    const { handles } = this
    for (const handle of handles) {
      handle.stop()
      await Promise.race([handle.exited, pause(STOP_STAGGER / handles.length)])
    }
    const late = setTimeout(() => {
      this.log.error('workers that have not ended in time are killed')
      this.kill()
    }, STOP_TIMEOUT)
    await Promise.all(handles.map(({ exited }) => exited))
    clearTimeout(late)
    this.stopWatchdog()
  }

  kill(): void {
    for (const handle of this.handles) handle.kill()
  }

  get readyHandles(): readonly WorkerHandle[] {
    return this.handles.filter(({ stage }) => stage === 'ready')
  }

  /** While requests are in flight at the end, somebody still tells about it. */
  get answering(): readonly WorkerHandle[] {
    return this.handles.filter(({ stage }) => stage === 'ready' || (this.stopping && stage === 'stopping'))
  }

  private outdated(): WorkerHandle | undefined {
    return this.readyHandles.find(({ config }) => config !== this.config)
  }

  private async update(handle: WorkerHandle): Promise<void> {
    try {
      await handle.swap(this.config, true)
    } catch (error) {
      this.log.warn({ worker: handle.number, err: error }, 'a worker could not swap its list; it is replaced')
      if (handle.stage === 'ready') handle.stop()
    }
  }

  private startWorker(slot: WorkerSlot): void {
    const handle = slot.start((from, message) => this.receive(slot, from, message))
    void handle.exited.then((exit) => this.onExit(slot, handle, exit))
  }

  private receive(slot: WorkerSlot, handle: WorkerHandle, message: ToPrimary): void {
    switch (message.kind) {
      case 'online':
        // At the first start one worker logs what all of them would.
        handle.boot(this.config, !this.complete && slot.number > 1)
        return
      case 'started':
        handle.stage = 'started'
        this.openPorts()
        return
      case 'ready':
        this.onReady(slot, handle, message.addresses)
        return
      case 'request':
        void this.internal.respond(message.request).then((response) => handle.respond(message.id, response))
        return
      case 'finalMetrics':
        this.addFinalMetrics(handle, message.response)
        return
      case 'pong':
        return
      case 'response':
      case 'swapped':
      case 'failed':
        handle.receive(message)
    }
  }

  /** At the first start for all workers together: a mistake in one ends the start before anything was served. */
  private openPorts(): void {
    if (!this.complete && this.handles.some(({ stage }) => stage === 'starting')) return
    for (const handle of this.handles) if (handle.stage === 'started') handle.open()
  }

  private onReady(slot: WorkerSlot, handle: WorkerHandle, addresses: Addresses): void {
    handle.stage = 'ready'
    slot.onReady()
    this.log.info({ worker: handle.number, pid: handle.pid }, 'a worker is ready')
    if (handle.config !== this.config) {
      void this.update(handle)
      return
    }
    this.addresses ??= addresses
    if (addresses.main !== this.addresses.main || addresses.internal !== this.addresses.internal) {
      // No worker held the free port any more, and clients do not know the new one.
      const message = 'all workers died, and the free port of the ready line could not be opened again'
      this.rejectFailed(new GatewayError('WORKERS_FAILED', message))
    }
    if (this.complete || this.readyHandles.length < this.slots.length) return
    this.complete = true
    this.resolveReady(addresses)
  }

  private onExit(slot: WorkerSlot, handle: WorkerHandle, { code, signal }: WorkerExit): void {
    const { stage, number, failure } = handle
    this.metrics.forget(handle.id)
    if (this.ending.signal.aborted) return
    if (stage === 'stopping') {
      slot.onStopped()
      this.startWorker(slot)
      return
    }
    const wait = slot.onDeath(stage === 'ready')
    const err = failure === undefined ? undefined : errorOf(failure)
    const reason = this.errorToGiveUp(slot, err, signal ?? `code ${code}`)
    if (reason !== undefined) {
      this.rejectFailed(reason)
      return
    }
    this.log.error(
      { worker: number, pid: handle.pid, code, signal, err, wait },
      'a worker died; it is started again',
    )
    this.openPorts()
    pause(wait, undefined, { signal: this.ending.signal }).then(
      () => {
        this.restarts(1)
        this.startWorker(slot)
      },
      () => {},
    )
  }

  private errorToGiveUp(
    { number, giveUpReason }: WorkerSlot,
    err: Error | undefined,
    end: string,
  ): Error | undefined {
    // An error before anything was served would happen at the next try too.
    if (!this.complete && err !== undefined) return err
    if (giveUpReason === undefined || (this.complete && this.readyHandles.length > 0)) return undefined
    const message = `worker ${number} ${giveUpReason} (${end})`
    return new GatewayError('WORKERS_FAILED', message, { cause: err })
  }

  private addFinalMetrics(handle: WorkerHandle, response: WorkerResponse): void {
    if (isExposition(response))
      this.metrics.add({ process: handle.id, boot: response.boot, text: response.body })
  }
}

const restartsIn = (meter: PrimaryMeter) =>
  meter.counter('worker_restarts_total', 'Workers that died and were started again')
