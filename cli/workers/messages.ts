import type { Addresses, List, Problem, Scrubber } from 'sallyport'
import { ConfigError } from 'sallyport'

/** A list, with what a process needs to boot it: read once, by the primary. It may hold secrets, and goes nowhere else. */
export interface Orders {
  readonly list: List
  readonly folder: string
  readonly secrets: ReadonlySet<string>
}

/** A request on the internal port. */
export interface Question {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Uint8Array
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: string
}

/** An answer of one list of one worker: after an exchange of lists all counts begin anew. */
export interface OwnAnswer extends Answer {
  readonly boot: number
}

export type Failure =
  | { readonly problems: readonly Problem[] }
  | { readonly message: string; readonly stack: string | undefined }

export type ToWorker =
  | { readonly kind: 'boot' | 'swap'; readonly orders: Orders; readonly quiet: boolean }
  | { readonly kind: 'open' }
  | { readonly kind: 'knock' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'question'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }

export type ToPrimary =
  | { readonly kind: 'here' }
  | { readonly kind: 'alive' }
  /** Everything that can fail before a door opens has been done. */
  | { readonly kind: 'started' }
  | { readonly kind: 'ready' | 'swapped'; readonly addresses: Addresses }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'question'; readonly id: number; readonly question: Question }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: OwnAnswer }
  /** The last word of a list on what it counted. */
  | { readonly kind: 'farewell'; readonly answer: OwnAnswer }

/** The secrets that plugins have opened are known where it failed, and not where it is told. */
export function failureOf(error: unknown, scrubber: Scrubber): Failure {
  if (error instanceof ConfigError) return { problems: error.problems }
  if (!(error instanceof Error)) return { message: scrubber.text(String(error)), stack: undefined }
  return { message: scrubber.text(error.message), stack: error.stack && scrubber.text(error.stack) }
}

/** What failed over there, to be told here. */
export function errorOf(failure: Failure): Error {
  if ('problems' in failure) return new ConfigError(failure.problems)
  const error = new Error(failure.message)
  if (failure.stack !== undefined) error.stack = failure.stack
  return error
}
