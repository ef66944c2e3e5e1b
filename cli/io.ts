import type { Readable, Writable } from 'node:stream'
import { createLog, type LogOptions } from 'sallyport/embed'

/** What one run of the program has of the world around it: in a process of its own, what the process has. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: NodeJS.ProcessEnv
  /** The path by which the program was started. */
  readonly started: string
  /** Emits SIGINT, SIGTERM and SIGHUP. */
  readonly signals: Signals
  /** Ends the process at once, whatever would keep it alive. Missing where others go on in the same process. */
  readonly exit?: (code: number) => never
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

interface Signals {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  once(signal: NodeJS.Signals, listener: () => void): unknown
}

/** The log of a run, on its stderr. The log of a process has a queue of its own there, for a reader that is slow. */
export const createRunLog = ({ stderr }: Io, options: LogOptions) =>
  createLog(
    stderr === process.stderr ? options : { pretty: stderr.isTTY === true, ...options, stream: stderr },
  )
