import type { Log } from 'sallyport'
import { exitCode } from './terminal.js'

/** What the person or the program that runs this process asks of it. */
interface Asked {
  readonly stop: (signal: NodeJS.Signals) => void
  /** A second time: nothing is waited for. */
  readonly stopNow: () => void
  readonly reload: () => void
}

/** Also while it boots: without a listener a signal would end the process. */
export function onSignals({ stop, stopNow, reload }: Asked): void {
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) return stopNow()
      stopping = true
      stop(signal)
    })
  }
  process.on('SIGHUP', reload)
}

/** Without this Node would print the error itself, past the scrubber. */
export function endOnSurprise(log: Log): void {
  const fail = (error: unknown): void => {
    log.fatal({ err: error }, 'something failed that nobody expected')
    process.exit(exitCode.failed)
  }
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
}
