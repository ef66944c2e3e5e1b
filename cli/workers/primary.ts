import cluster from 'node:cluster'
import { ConfigError, createLog, type Log, planList, Scrubber } from 'sallyport'
import { silentContext } from '../config/all-problems.js'
import type { Located } from '../config/outcome.js'
import type { Preset } from '../gateway.js'
import type { Invocation } from '../options/option.js'
import { workers } from '../options/workers.js'
import { reload } from '../reload.js'
import { endOnSurprise, onSignals } from '../signals.js'
import { exitCode, report } from '../terminal.js'
import { Crew } from './crew.js'
import type { Orders } from './messages.js'
import { notInSeveral } from './several.js'

/** Runs one list in several processes on one port. It boots none itself: it reads, judges, and gives orders. */
export class Primary<Settings> {
  private readonly debug: boolean
  private readonly scrubber = new Scrubber()
  private readonly log: Log
  private readonly ending = new AbortController()
  private readonly asked: Promise<undefined>
  private crew: Crew | undefined
  private complete = false
  private reloads: Promise<void> = Promise.resolve()

  constructor(
    private readonly preset: Preset<Settings>,
    private readonly invocation: Invocation,
    private readonly count: number,
  ) {
    this.debug = invocation.given.get('debug')?.value === true
    this.log = createLog({ level: this.debug ? 'debug' : 'info', scrubber: this.scrubber })
    this.asked = new Promise((resolve) => {
      this.ending.signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
  }

  async run(located: Located<Settings>): Promise<number> {
    this.listen()
    try {
      await this.serve(located)
      return exitCode.asked
    } catch (error) {
      return this.ending.signal.aborted ? exitCode.asked : await report(error, this.debug)
    } finally {
      await this.crew?.stop()
    }
  }

  private async serve(located: Located<Settings>): Promise<void> {
    const orders = await this.judged(located)
    if (this.ending.signal.aborted) return
    // In turn, so that connections which stay for long are spread evenly: else whoever wakes first takes most of them.
    cluster.schedulingPolicy = cluster.SCHED_RR
    // JSON holds no set and no bytes.
    cluster.setupPrimary({ serialization: 'advanced' })
    const crew = new Crew(this.count, orders, this.log)
    this.crew = crew
    crew.start()
    const addresses = await Promise.race([crew.ready, this.asked])
    if (addresses === undefined) return
    this.complete = true
    const line = await this.preset.readyLine?.(located.settings, addresses)
    if (line !== undefined) process.stdout.write(`${line}\n`)
    await Promise.race([crew.lost, this.asked])
  }

  private listen(): void {
    onSignals({
      stop: (signal) => {
        this.log.info({ signal }, 'asked to stop')
        this.ending.abort(new Error(`stopped by ${signal}`))
      },
      stopNow: () => {
        this.crew?.kill()
        process.exit(exitCode.failed)
      },
      reload: () => {
        if (!this.complete) this.log.warn('still starting; nothing is read again')
        else this.reloads = this.reloads.then(() => this.reload())
      },
    })
    endOnSurprise(this.log)
  }

  private reload(): Promise<void> {
    return reload(
      this.log,
      () => this.preset.read(this.invocation),
      async (located) => this.crew?.swap(await this.judged(located)),
    )
  }

  /** What the workers are told to boot, once nothing is wrong with it that can be seen without booting it. */
  private async judged(located: Located<Settings>): Promise<Orders> {
    const { folder, secrets } = located
    for (const secret of secrets) this.scrubber.add(secret)
    const list = this.preset.list(located.settings)
    const plan = await planList(list, silentContext({ ...located, settings: list }))
    const problems = notInSeveral(plan, this.invocation.given.get(workers.name)?.place ?? '--workers')
    if (problems.length > 0) throw new ConfigError(problems)
    return { list, folder, secrets }
  }
}
