import type { Readable, Writable } from 'node:stream'
import { createLog, type LogOptions } from 'sallyport/embed'

/** The streams, variables and signals of one run: those of the process, or those that a test gives. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** The path of the program file. */
  readonly started: string
  /** Emits SIGINT, SIGTERM and SIGHUP. */
  readonly signals: Signals
  /** Ends the process at once, also with open handles. Missing where other runs share the process. */
  readonly exit?: (code: number) => never
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

interface Signals {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  once(signal: NodeJS.Signals, listener: () => void): unknown
}

/** The log of a run, on its stderr. On the stderr of the process, the log has a queue of its own for a slow reader. */
export const createRunLog = ({ stderr }: Io, options: LogOptions) =>
  createLog(
    stderr === process.stderr ? options : { pretty: stderr.isTTY === true, ...options, stream: stderr },
  )
