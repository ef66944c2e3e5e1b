import type { Addresses, List, Problem } from 'sallyport'
import { ConfigError } from 'sallyport'
import type { LogScrubber } from 'sallyport/embed'

/** A list, with what a worker needs to boot it: read once, by the primary. It may hold secrets: it goes to workers only. */
export interface WorkerConfig {
  readonly list: List
  readonly folder: string
  readonly secrets: ReadonlySet<string>
  /** What all workers sign with. */
  readonly key: Uint8Array
}

/** A request on the internal port. */
export interface InternalRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

export interface InternalResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
}

/** The response of one list of one worker: after a swap its counters start from zero. */
export interface WorkerResponse extends InternalResponse {
  readonly boot: number
}

export type Failure =
  | { readonly problems: readonly Problem[] }
  | { readonly message: string; readonly stack: string | undefined }

export type ToWorker =
  | { readonly kind: 'boot' | 'swap'; readonly config: WorkerConfig; readonly quiet: boolean }
  | { readonly kind: 'open' }
  | { readonly kind: 'ping' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'request'; readonly id: number; readonly request: InternalRequest }
  | { readonly kind: 'response'; readonly id: number; readonly response: InternalResponse }

export type ToPrimary =
  | { readonly kind: 'online' }
  | { readonly kind: 'pong' }
  /** Everything that can fail before a port is opened has been done. */
  | { readonly kind: 'started' }
  | { readonly kind: 'ready' | 'swapped'; readonly addresses: Addresses; readonly drainDelay: number }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'request'; readonly id: number; readonly request: InternalRequest }
  | { readonly kind: 'response'; readonly id: number; readonly response: WorkerResponse }
  /** The metrics of a list that is stopped. */
  | { readonly kind: 'finalMetrics'; readonly response: WorkerResponse }

/** Scrubbed here: secrets that plugins have read are known to this process only. */
export function failureOf(error: unknown, scrubber: LogScrubber): Failure {
  if (error instanceof ConfigError) return { problems: error.problems }
  if (!(error instanceof Error)) return { message: scrubber.text(String(error)), stack: undefined }
  return { message: scrubber.text(error.message), stack: error.stack && scrubber.text(error.stack) }
}

/** The error that another process sent. */
export function errorOf(failure: Failure): Error {
  if ('problems' in failure) return new ConfigError(failure.problems)
  const error = new Error(failure.message)
  if (failure.stack !== undefined) error.stack = failure.stack
  return error
}
