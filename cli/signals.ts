import type { Log } from 'sallyport'
import type { Io } from './io.js'
import { endProcess } from './process-end.js'
import { exitCode } from './terminal.js'

interface SignalHandlers {
  /** An operator at a terminal does not want to wait until load balancers have noticed. */
  readonly stop: (signal: NodeJS.Signals, atTerminal: boolean) => void
  /** Called at the second signal. */
  readonly stopNow: () => void
  readonly reload: () => void
}

/** Call it before the boot: without a listener a signal would end the process. */
export function handleSignals(
  log: Log,
  { signals, stdin, stdout, stderr }: Io,
  { stop, stopNow, reload }: SignalHandlers,
): void {
  const isAtTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY === true)
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    signals.on(signal, () => {
      if (stopping) return stopNow()
      stopping = true
      log.info({ signal }, 'asked to stop')
      stop(signal, signal === 'SIGINT' && isAtTerminal)
    })
  }
  signals.on('SIGHUP', () => {
    if (stopping) log.warn('stopping: the configuration is not read again')
    else reload()
  })
}

/** Further listeners for a process that runs only a gateway. */
export function guardProcess(log: Log): void {
  exitOnUncaughtError(log)
  logWarnings(log)
  openNoInspector(log)
}

/** Without a listener Node would open a port through which every user of the machine can read all secrets. */
function openNoInspector(log: Log): void {
  process.on('SIGUSR1', () => log.warn('SIGUSR1 opens no inspector: start with `node --inspect` to debug'))
}

/** Node itself would print the error without the scrubber. */
function exitOnUncaughtError(log: Log): void {
  const fail = (error: unknown): void => {
    log.fatal({ err: error }, 'uncaught error')
    endProcess(exitCode.failed)
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
}

/** Node itself would print warnings between the log's lines, without the scrubber. NODE_NO_WARNINGS still works. */
function logWarnings(log: Log): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ err: warning }, 'Node warns'))
}
