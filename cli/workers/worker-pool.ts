import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Addresses,
  BackgroundTask,
  ConfigError,
  GatewayError,
  type List,
  type Log,
  type Problem,
} from 'sallyport'
import {
  type BootContext,
  createLog,
  entriesOf,
  type PlannedEntry,
  type PlannedScope,
  planList,
} from 'sallyport/embed'
import { requestAll } from './internal-fanout.js'
import type { InternalRequest, WorkerConfig } from './worker.js'
import { WorkerHandle } from './worker-handle.js'

// After a worker has lived this long, its death counts as the first one again.
const STABLE_AFTER = 60_000
const MAX_DEATHS = 5
const FIRST_PAUSE = 250
const MAX_PAUSE = 30_000

interface WorkersContext extends BootContext {
  readonly secrets: ReadonlySet<string>
  readonly signal: AbortSignal
}

/** Serves a list in several processes on the same ports, as `serve` does in one. `place` is that of their number. */
export async function serveWorkers(
  count: number,
  place: string,
  list: List,
  context: WorkersContext,
): Promise<WorkerPool> {
  const pool = new WorkerPool(place, context.log)
  try {
    await pool.start(count, list, context)
  } catch (error) {
    await pool.stop(undefined, 0)
    throw error
  }
  return pool
}

/** Keeps a number of workers alive that serve the current list. */
class WorkerPool {
  readonly keepsStdout = false
  addresses: Addresses = {}
  /** Rejects when new workers would probably die too. */
  over = Promise.resolve()
  private readonly workers = new Map<number, WorkerHandle>()
  private readonly ending = new AbortController()
  private readonly key = randomBytes(32)
  private config: WorkerConfig | undefined
  private complete = false
  private starting = 0
  private openPorts = (): void => {}
  private readonly opening = new Promise<void>((resolve) => {
    this.openPorts = resolve
  })
  private swaps: Promise<unknown> = Promise.resolve()
  private requested = 0

  constructor(
    private readonly place: string,
    private readonly log: Log,
  ) {
    // JSON cannot hold a Set or bytes.
    cluster.setupPrimary({ serialization: 'advanced' })
    // A worker that hangs does not notice that this process ends.
    process.on('exit', () => {
      for (const worker of this.workers.values()) worker.kill()
    })
  }

  /** Resolves when all workers are ready. */
  async start(count: number, list: List, context: WorkersContext): Promise<void> {
    const { signal } = context
    this.config = await this.checked(list, context)
    signal.throwIfAborted()
    this.starting = count
    const runs: Promise<void>[] = []
    const starts = Array.from({ length: count }, (_, index) => {
      return new Promise<void>((ready) => runs.push(this.keepAlive(index + 1, ready)))
    })
    this.over = Promise.all(runs).then(() => {})
    await Promise.race([Promise.all(starts), this.over, once(signal, 'abort')])
    signal.throwIfAborted()
    this.complete = true
  }

  /**
   * Gives all workers another list, one after the other. If the first worker fails, nothing changes. Resolves with
   * false when a later swap was requested before this one began.
   */
  swap(list: List, context: WorkersContext): Promise<boolean> {
    const number = ++this.requested
    const swapped = this.swaps.then(async () => {
      if (number < this.requested) return false
      const config = await this.checked(list, context)
      const [first] = this.serving
      await first?.load(config, false)
      this.config = config
      for (const worker of this.serving) {
        await this.update(worker, true).catch((error: unknown) => {
          this.log.warn(
            { worker: worker.number, err: error },
            'a worker could not swap its list; it is replaced',
          )
          void worker.stop(0)
        })
      }
      return true
    })
    this.swaps = swapped.catch(() => {})
    return swapped
  }

  async stop(_drainLimit: undefined, drainDelay?: number): Promise<void> {
    this.ending.abort()
    await Promise.all(Array.from(this.workers.values(), (worker) => worker.stop(drainDelay)))
  }

  private get serving(): readonly WorkerHandle[] {
    return [...this.workers.values()].filter(({ config }) => config !== undefined)
  }

  /** Starts a worker, and starts it again whenever it dies. */
  private async keepAlive(number: number, ready: () => void): Promise<void> {
    const { signal } = this.ending
    for (let restarts = 0, deaths = 0; !signal.aborted; restarts++) {
      const since = performance.now()
      const request = (sent: InternalRequest) => requestAll(this.serving, sent)
      const worker = new WorkerHandle(number, restarts, { request, started: () => this.started() }, this.log)
      this.workers.set(number, worker)
      const failure = this.bringUp(worker).then(ready, (error: Error) => {
        worker.kill()
        return error
      })
      const end = await worker.exited
      this.workers.delete(number)
      if (signal.aborted) return

      deaths = performance.now() - since > STABLE_AFTER ? 1 : deaths + 1
      const err = (await failure) ?? undefined
      this.checkWorthRestarting(number, deaths, end, err)
      const wait = deaths === 1 ? 0 : Math.min(FIRST_PAUSE * 2 ** (deaths - 2), MAX_PAUSE)
      this.log.error(
        { worker: number, pid: worker.pid, end, err, wait },
        'a worker died; it is started again',
      )
      await pause(wait, undefined, { signal }).catch(() => {})
    }
  }

  /** At the first start all workers open their ports together: a mistake in one ends the start before a port opens. */
  private async started(): Promise<void> {
    if (--this.starting === 0) this.openPorts()
    await this.opening
  }

  private async bringUp(worker: WorkerHandle): Promise<void> {
    // At the first start only one worker logs: the others would log the same lines.
    await this.update(worker, !this.complete && worker.number > 1)
    const { number, pid } = worker
    this.log.info({ worker: number, ...this.addresses, pid }, 'a worker is ready')
  }

  /** Gives a worker the current list, which may change meanwhile. */
  private async update(worker: WorkerHandle, quiet: boolean): Promise<void> {
    while (this.config !== undefined && worker.config !== this.config)
      this.addresses = await worker.load(this.config, quiet)
  }

  private checkWorthRestarting(number: number, deaths: number, end: string, cause: Error | undefined): void {
    // A failure before the first start is complete would happen again at the next try.
    if (!this.complete && cause !== undefined) throw cause
    if (deaths < MAX_DEATHS || this.serving.length > 0) return
    const message = `worker ${number} ended ${deaths} times in a row (${end})`
    throw new GatewayError('WORKERS_FAILED', message, { cause })
  }

  /** The configuration for the workers, after the checks that need no boot. */
  private async checked(list: List, context: WorkersContext): Promise<WorkerConfig> {
    const plan = await planList(list, { ...context, log: createLog({ level: 'silent' }) })
    const problems = singleProcessOnly(plan, this.place)
    if (problems.length > 0) throw new ConfigError(problems)
    const { folder, secrets } = context
    return { list, folder, secrets, key: this.key }
  }
}

/** A problem for each plugin of a list that works in one process only. */
export function singleProcessOnly(plan: PlannedScope, place: string): readonly Problem[] {
  const entries = entriesOf(plan)
  const required = new Set(entries.flatMap(({ plugin }) => plugin.requires ?? []).map(({ token }) => token))
  return entries.flatMap(({ id, plugin }) => {
    const reason = reasonOf(plugin, required)
    if (reason === undefined) return []
    return [{ place, message: `1 is expected, since "${id}" cannot run in several processes: ${reason}` }]
  })
}

function reasonOf(
  { provides = [], stdout, oneProcess }: PlannedEntry['plugin'],
  required: ReadonlySet<symbol>,
): string | undefined {
  if (typeof oneProcess === 'string') return oneProcess
  if (oneProcess !== undefined && required.has(oneProcess.requiring.token)) return oneProcess.reason
  if (provides.some(({ token }) => token === BackgroundTask.token))
    return 'its background task must run only once'
  return stdout === 'protocol' ? 'the processes share one standard output' : undefined
}
