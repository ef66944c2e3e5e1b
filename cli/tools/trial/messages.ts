import type { List } from 'sallyport'

/** The list that the process with the plugins gets. It answers with what it found. */
export interface TrialJob {
  readonly list: List
  readonly folder: string
}

/** Around the path of a setting, which the process that read the file turns into a line and a column. No JSON has one. */
export const PATH_MARK = '\u0001'
