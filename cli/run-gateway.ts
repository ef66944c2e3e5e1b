import { type Addresses, ConfigError, type List, type Log } from 'sallyport'
import { catalogueOn } from 'sallyport/builtin'
import { type GatewayServer, type LogOptions, LogScrubber, serve } from 'sallyport/embed'
import { allProblems, silentContext } from './config/all-problems.js'
import type { Located, Result } from './config/result.js'
import { createRunLog, type Io } from './io.js'
import type { Invocation } from './line/option.js'
import { type LOG_LEVELS, logFlags } from './line/shared-flags.js'
import { fewOpenFiles } from './open-files.js'
import { guardProcess, handleSignals } from './signals.js'
import { exitAfterFlush, exitCode, printError, printProblems, problemText } from './terminal.js'
import { workerCount, workers } from './workers/flags.js'
import { workerNumber } from './workers/worker-id.js'

/** Boots the list of a command, reloads it on SIGHUP, and returns the exit code. */
export async function runGateway<Settings>(
  command: GatewayCommand<Settings>,
  invocation: Invocation,
  io: Io,
): Promise<number> {
  const worker = workerNumber(io.env)
  if (worker !== undefined) {
    const { runWorker } = await import('./workers/worker.js')
    return exitAfterFlush(await runWorker(worker, logOptions(invocation)), io)
  }
  const result = await readWhole(command, invocation)
  if ('problems' in result) return printProblems(result.problems, io)
  if (invocation.problems.length > 0) return printProblems(invocation.problems, io)
  if (isOn(invocation, 'print-plugins')) return printPlugins(command.list(result.settings), result, io)
  // The gateway has stopped: a timer that a plugin forgot must not keep the process alive.
  return exitAfterFlush(await new GatewayRun(command, invocation, io).run(result), io)
}

/** The settings of a command, or all problems of the settings and of their plugins. */
async function readWhole<Settings>(
  command: GatewayCommand<Settings>,
  invocation: Invocation,
): Promise<Result<Settings>> {
  const result = await command.read(invocation)
  return 'problems' in result ? { problems: await allProblems(result) } : result
}

async function printPlugins(list: List, located: Located<unknown>, { stdout }: Io): Promise<number> {
  const { canonicalText } = await import('./config/canonical.js')
  stdout.write(await canonicalText(list, located.secrets, silentContext(located)))
  return exitCode.ok
}

const isOn = ({ options }: Invocation, flag: string): boolean => options.get(flag)?.value === true

/** A running gateway, in this process or in its workers. */
type Running = Pick<GatewayServer, 'addresses' | 'keepsStdout' | 'over' | 'swap' | 'stop'>

class GatewayRun<Settings> {
  private readonly debug: boolean
  private readonly scrubber = new LogScrubber()
  private readonly log: Log
  private readonly ending = new AbortController()
  private running: Running | undefined
  private reloads = 0
  /** The number of the reload that is in force. */
  private applied = 0
  /** A signal stopped it: it serves for the drain delay. A gateway that ends by itself does not. */
  private drains = false

  constructor(
    private readonly command: GatewayCommand<Settings>,
    private readonly invocation: Invocation,
    private readonly io: Io,
  ) {
    this.debug = isOn(invocation, 'debug')
    const isQuiet = command.quietOnTerminal === true && io.stderr.isTTY === true
    this.log = createRunLog(io, {
      ...logOptions(invocation, isQuiet ? 'error' : 'info'),
      scrubber: this.scrubber,
    })
  }

  async run(located: Located<Settings>): Promise<number> {
    this.handleSignals()
    const few = fewOpenFiles()
    if (few !== undefined) this.log.warn(few)
    try {
      const running = await this.serve(located)
      this.running = running
      if (!running.keepsStdout) await this.announce(located, running)
      await this.untilStopped(running)
      return exitCode.ok
    } catch (error) {
      return this.ending.signal.aborted ? exitCode.ok : printError(error, this.io, this.debug)
    }
  }

  private async serve(located: Located<Settings>): Promise<Running> {
    const list = this.command.list(located.settings)
    const context = this.contextOf(located)
    const count = workerCount(this.invocation)
    if (count === 1) return serve(list, context)
    const { serveWorkers } = await import('./workers/worker-pool.js')
    return serveWorkers(count, this.invocation.options.get(workers.name)?.place ?? '--workers', list, context)
  }

  private async announce({ settings }: Located<Settings>, { addresses }: Running): Promise<void> {
    const line = await this.command.readyLine?.(settings, addresses, this.io)
    if (line !== undefined) this.io.stdout.write(`${line}\n`)
  }

  private handleSignals(): void {
    handleSignals(this.log, this.io, {
      stop: (signal, atTerminal) => {
        this.drains = !atTerminal
        this.ending.abort(new Error(`stopped by ${signal}`))
      },
      stopNow: () => this.io.exit?.(exitCode.failed),
      reload: () => {
        if (this.running === undefined) this.log.warn('still starting: the configuration is not read again')
        else void this.reload(this.running)
      },
    })
    if (this.io.exit !== undefined) guardProcess(this.log)
  }

  private async untilStopped(running: Running): Promise<void> {
    const { signal } = this.ending
    // A list without a server has no other handle that keeps the process alive.
    const keepAlive = setInterval(() => {}, 2 ** 30)
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      await Promise.race([stopped, running.over])
    } finally {
      clearInterval(keepAlive)
      await running.stop(undefined, this.drains ? undefined : 0)
    }
  }

  private reload(running: Running): Promise<void> {
    const number = ++this.reloads
    return reload(
      this.log,
      () => readWhole(this.command, this.invocation),
      async (located) => {
        // A later reload was faster than this one, whose file was slow.
        if (number < this.applied) return false
        this.applied = number
        return running.swap(this.command.list(located.settings), this.contextOf(located))
      },
    )
  }

  private contextOf({ folder, locate, secrets }: Located<Settings>) {
    for (const secret of secrets) this.scrubber.add(secret)
    const { log, scrubber, ending, io } = this
    return { catalogue: catalogueOn(io), folder, locate, secrets, log, scrubber, signal: ending.signal }
  }
}

/**
 * Reads the configuration again and applies it, unless a later reload was faster. A wrong configuration
 * is logged and changes nothing.
 */
async function reload<Settings>(
  log: Log,
  read: () => Promise<Result<Settings>>,
  apply: (located: Located<Settings>) => Promise<boolean>,
): Promise<void> {
  try {
    const result = await read()
    if ('problems' in result) throw new ConfigError(result.problems)
    const isApplied = await apply(result)
    log.info(
      isApplied
        ? 'the configuration was read again and is in force'
        : 'the configuration was read again, but a later reload replaces it',
    )
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems.map(problemText) : undefined
    log.error(
      problems === undefined ? { err: error } : { problems },
      'the configuration was read again and is not in force: the previous one stays in force',
    )
  }
}

type LogLevel = NonNullable<LogOptions['level']>

/** The log options of a command that boots a list; `level` is its default. */
export function logOptions(
  { options }: Invocation,
  level: LogLevel = 'info',
): Pick<LogOptions, 'level' | 'pretty'> {
  const [levelFlag, formatFlag] = logFlags
  const format = options.get(formatFlag.name)?.value
  return {
    level:
      options.get('debug')?.value === true ? 'debug' : levelOf(options.get(levelFlag.name)?.value, level),
    ...(format !== undefined && { pretty: format === 'pretty' }),
  }
}

function levelOf(written: unknown, usual: LogLevel): LogLevel {
  // The parser has accepted only these choices.
  const level = written as (typeof LOG_LEVELS)[number] | undefined
  return level === 'off' ? 'silent' : (level ?? usual)
}

/** A command that boots a list of plugins and runs until it is stopped. */
export interface GatewayCommand<Settings> {
  /** Reads flags, environment and files: at the start, and for each SIGHUP. */
  read(invocation: Invocation): Promise<Result<Settings>>
  list(settings: Settings): List
  /** On a terminal the command logs only errors: other lines would mix with its output. */
  readonly quietOnTerminal?: true
  /**
   * The line for stdout once the ports are open: the addresses of the gateway. A command without a ready line uses
   * stdout for a protocol.
   */
  readyLine?(settings: Settings, addresses: Addresses, io: Io): string | undefined | Promise<string>
}
