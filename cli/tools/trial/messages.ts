import type { List } from 'sallyport'
import type { TrialFinding } from 'sallyport/embed'

/** The list that the process with the plugins gets. */
export interface TrialJob {
  readonly list: List
  readonly folder: string
}

/** That the process has got it, and what it found. */
export type TrialMessage = 'begun' | readonly TrialFinding[]

/** Around the path of a setting, which the process that read the file turns into a line and a column. No JSON has one. */
export const PATH_MARK = '\u0001'
