import type { List } from 'sallyport'
import type { TrialFinding } from 'sallyport/embed'

/** The list that the child process tries. */
export interface TrialJob {
  readonly list: List
  readonly folder: string
}

/** `begun`: the child process has received the job. A list: its findings. */
export type TrialMessage = 'begun' | readonly TrialFinding[]

/** Stands around the path of a setting; the parent process turns the path into line and column. JSON never holds it. */
export const PATH_MARK = '\u0001'
