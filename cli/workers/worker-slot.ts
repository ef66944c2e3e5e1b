import cluster from 'node:cluster'
import type { Handover } from './handover.js'
import type { ToPrimary } from './messages.js'
import { WorkerHandle } from './worker-handle.js'
import { workerEnvironment } from './worker-id.js'

// The death of a worker that was ready for so long has nothing to do with its start.
const STABLE_AFTER = 60_000
// In a row: deaths before a worker was ready, and deaths less than STABLE_AFTER after it was.
const MAX_EARLY_DEATHS = 3
const MAX_DEATHS = 5
const FIRST_PAUSE = 250
const MAX_PAUSE = 30_000

/** One of the pool's workers, and after its death its successor: the number stays. */
export class WorkerSlot {
  handle: WorkerHandle | undefined
  private earlyDeaths = 0
  private deaths = 0
  private readySince = 0

  constructor(
    readonly number: number,
    private readonly handover: Handover,
  ) {}

  start(receive: (handle: WorkerHandle, message: ToPrimary) => void): WorkerHandle {
    const worker = cluster.fork(workerEnvironment(this.number))
    this.handover.watch(worker)
    const handle: WorkerHandle = new WorkerHandle(this.number, worker, (message) => receive(handle, message))
    this.handle = handle
    return handle
  }

  onReady(): void {
    this.earlyDeaths = 0
    this.readySince = Date.now()
  }

  /** The worker exited because it was stopped. */
  onStopped(): void {
    this.handle = undefined
  }

  /** The worker died. Returns the milliseconds until the next start: more each time, so that a crash loop costs little. */
  onDeath(wasReady: boolean): number {
    this.handle = undefined
    if (!wasReady) this.earlyDeaths++
    else if (Date.now() - this.readySince > STABLE_AFTER) this.deaths = 0
    const pause = this.deaths === 0 ? 0 : FIRST_PAUSE * 2 ** (this.deaths - 1)
    this.deaths++
    return Math.min(pause, MAX_PAUSE)
  }

  /** Why the next worker can be expected to die as well; undefined when it need not. */
  get giveUpReason(): string | undefined {
    if (this.earlyDeaths >= MAX_EARLY_DEATHS)
      return `ended ${MAX_EARLY_DEATHS} times in a row before it was ready`
    if (this.deaths < MAX_DEATHS) return undefined
    return `ended ${this.deaths} times in a row less than ${STABLE_AFTER / 1000} s after it was ready`
  }
}
