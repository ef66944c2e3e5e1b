import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { ConfigError, type Log } from 'sallyport'
import { createLog, LogScrubber, planList } from 'sallyport/embed'
import { silentContext } from '../config/all-problems.js'
import type { Located } from '../config/result.js'
import type { GatewayCommand } from '../gateway-command.js'
import type { Invocation } from '../line/option.js'
import { logOptions } from '../log-options.js'
import { fewOpenFiles } from '../open-files.js'
import { reload } from '../reload.js'
import { exitOnUncaughtError, handleSignals } from '../signals.js'
import { exitCode, printError } from '../terminal.js'
import { workers } from './flags.js'
import type { WorkerConfig } from './messages.js'
import { singleProcessOnly } from './single-process.js'
import { WorkerPool } from './worker-pool.js'

/** Runs one list in several processes on one port. It boots no list itself: it reads and checks it, and starts workers. */
export class Primary<Settings> {
  private readonly debug: boolean
  private readonly scrubber = new LogScrubber()
  private readonly log: Log
  private readonly key = randomBytes(32)
  private readonly ending = new AbortController()
  private readonly stopped: Promise<undefined>
  private pool: WorkerPool | undefined
  private complete = false
  /** The workers serve on for the drain delay when they are stopped. */
  private drains = false
  private reloads: Promise<void> = Promise.resolve()

  constructor(
    private readonly command: GatewayCommand<Settings>,
    private readonly invocation: Invocation,
    private readonly count: number,
  ) {
    this.debug = invocation.options.get('debug')?.value === true
    this.log = createLog({ ...logOptions(invocation), scrubber: this.scrubber })
    this.stopped = new Promise((resolve) => {
      this.ending.signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
  }

  async run(located: Located<Settings>): Promise<number> {
    this.handleSignals()
    const few = fewOpenFiles()
    if (few !== undefined) this.log.warn(few)
    try {
      await this.serve(located)
      return exitCode.ok
    } catch (error) {
      return this.ending.signal.aborted ? exitCode.ok : await printError(error, this.debug)
    } finally {
      await this.pool?.stop(this.drains)
    }
  }

  private async serve(located: Located<Settings>): Promise<void> {
    const config = await this.checked(located)
    if (this.ending.signal.aborted) return
    // Round robin spreads long connections evenly: otherwise the worker that wakes first takes most of them.
    cluster.schedulingPolicy = cluster.SCHED_RR
    // JSON has no Set and no bytes.
    cluster.setupPrimary({ serialization: 'advanced' })
    const pool = new WorkerPool(this.count, config, this.log)
    this.pool = pool
    pool.start()
    const addresses = await Promise.race([pool.ready, this.stopped])
    if (addresses === undefined) return
    this.complete = true
    const line = await this.command.readyLine?.(located.settings, addresses)
    if (line !== undefined) process.stdout.write(`${line}\n`)
    await Promise.race([pool.failed, this.stopped])
  }

  private handleSignals(): void {
    handleSignals(this.log, {
      stop: (signal, atTerminal) => {
        this.drains = !atTerminal
        this.ending.abort(new Error(`stopped by ${signal}`))
      },
      stopNow: () => {
        this.pool?.kill()
        process.exit(exitCode.failed)
      },
      reload: () => {
        if (!this.complete) this.log.warn('still starting: the configuration is not read again')
        else this.reloads = this.reloads.then(() => this.reload())
      },
    })
    exitOnUncaughtError(this.log)
  }

  private reload(): Promise<void> {
    return reload(
      this.log,
      () => this.command.read(this.invocation),
      async (located) => this.pool?.swap(await this.checked(located)),
    )
  }

  /** What the workers boot, after the checks that need no boot. */
  private async checked(located: Located<Settings>): Promise<WorkerConfig> {
    const { folder, secrets } = located
    for (const secret of secrets) this.scrubber.add(secret)
    const list = this.command.list(located.settings)
    const plan = await planList(list, silentContext({ ...located, settings: list }))
    const problems = singleProcessOnly(plan, this.invocation.options.get(workers.name)?.place ?? '--workers')
    if (problems.length > 0) throw new ConfigError(problems)
    return { list, folder, secrets, key: this.key }
  }
}
