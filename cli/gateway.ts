import type { Addresses, BootContext, List, Running } from 'sallyport'
import { createLog, type Log, type Problem, Scrubber, serve } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { allProblems, silentContext } from './config/all-problems.js'
import type { Located, Outcome } from './config/outcome.js'
import { suitHeap } from './heap.js'
import type { Invocation } from './options/option.js'
import { workerCount } from './options/workers.js'
import { reload } from './reload.js'
import { endOnSurprise, onSignals } from './signals.js'
import { exitCode, report, tell } from './terminal.js'
import { ownNumber } from './workers/mark.js'

/** A command that boots a list of plugins and stays until it is told to stop. */
export interface Preset<Settings> {
  /** Reads flags, environment and files; again for each SIGHUP. */
  read(invocation: Invocation): Promise<Outcome<Settings>>
  list(settings: Settings): List
  /**
   * What stdout says when the doors are open: one line that says where to go. A preset without it keeps stdout
   * for a protocol.
   */
  readyLine?(settings: Settings, addresses: Addresses): string | undefined | Promise<string>
}

/** Boots what was asked for, keeps it over reloads, and answers the exit code. */
export async function runGateway<Settings>(
  preset: Preset<Settings>,
  invocation: Invocation,
): Promise<number> {
  suitHeap()
  const number = ownNumber()
  if (number !== undefined) {
    const { work } = await import('./workers/worker.js')
    process.exit(await work(number, isOn(invocation, 'debug')))
  }
  const outcome = await preset.read(invocation)
  if ('problems' in outcome) return tell(await problemsOf(preset, outcome))
  if (isOn(invocation, 'print-plugins')) return print(preset.list(outcome.settings), outcome)
  const code = await served(preset, invocation, outcome)
  // Everything was stopped. A timer that some plugin forgot must not keep the process here.
  process.exit(code)
}

async function served<Settings>(
  preset: Preset<Settings>,
  invocation: Invocation,
  located: Located<Settings>,
): Promise<number> {
  const count = workerCount(invocation)
  if (count === 1) return new Session(preset, invocation).run(located)
  const { Primary } = await import('./workers/primary.js')
  return new Primary(preset, invocation, count).run(located)
}

async function problemsOf<Settings>(
  preset: Preset<Settings>,
  { problems, readable }: Extract<Outcome<Settings>, { problems: unknown }>,
): Promise<readonly Problem[]> {
  if (readable === undefined) return problems
  return allProblems({ problems, readable: { ...readable, settings: preset.list(readable.settings) } })
}

async function print(list: List, located: Located<unknown>): Promise<number> {
  const { canonicalText } = await import('./config/canonical.js')
  process.stdout.write(await canonicalText(list, located.secrets, silentContext(located)))
  return exitCode.asked
}

const isOn = ({ given }: Invocation, flag: string): boolean => given.get(flag)?.value === true

class Session<Settings> {
  private readonly debug: boolean
  private readonly scrubber = new Scrubber()
  private readonly log: Log
  private readonly ending = new AbortController()
  private running: Running | undefined

  constructor(
    private readonly preset: Preset<Settings>,
    private readonly invocation: Invocation,
  ) {
    this.debug = isOn(invocation, 'debug')
    this.log = createLog({ level: this.debug ? 'debug' : 'info', scrubber: this.scrubber })
  }

  async run(located: Located<Settings>): Promise<number> {
    this.listen()
    try {
      const running = await serve(this.preset.list(located.settings), this.contextOf(located))
      this.running = running
      const line = await this.preset.readyLine?.(located.settings, running.addresses)
      if (line !== undefined) process.stdout.write(`${line}\n`)
      await this.stay(running)
      return exitCode.asked
    } catch (error) {
      return this.ending.signal.aborted ? exitCode.asked : report(error, this.debug)
    }
  }

  private listen(): void {
    onSignals({
      stop: (signal) => {
        this.log.info({ signal }, 'asked to stop')
        this.ending.abort(new Error(`stopped by ${signal}`))
      },
      stopNow: () => process.exit(exitCode.failed),
      reload: () => {
        if (this.running === undefined) this.log.warn('still starting; nothing is read again')
        else void this.reload(this.running)
      },
    })
    endOnSurprise(this.log)
  }

  private async stay(running: Running): Promise<void> {
    const { signal } = this.ending
    // A server keeps the process alive; a list without one has only this.
    const alive = setInterval(() => {}, 2 ** 30)
    const asked = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      await Promise.race([asked, running.over])
    } finally {
      clearInterval(alive)
      await running.stop()
    }
  }

  private reload(running: Running): Promise<void> {
    return reload(
      this.log,
      () => this.preset.read(this.invocation),
      (located) => running.swap(this.preset.list(located.settings), this.contextOf(located)),
    )
  }

  private contextOf({ folder, locate, secrets }: Located<Settings>): BootContext {
    for (const secret of secrets) this.scrubber.add(secret)
    return { catalogue, folder, locate, log: this.log, scrubber: this.scrubber, signal: this.ending.signal }
  }
}
