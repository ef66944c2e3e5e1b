import type { Finding } from '../findings/finding-list.js'

/** The job of the child process that loads the plugin. */
export interface Job {
  readonly file: string
  readonly folder: string
  readonly about: string
  readonly options: Readonly<Record<string, unknown>> | undefined
  /** The value of every secret option, so that a leak is recognized in any output. */
  readonly canary: string
}

/** The reports of the child. A plugin that blocks its thread stops them. */
export type Message =
  | { readonly kind: 'alive' }
  | { readonly kind: 'at'; readonly step: string; readonly findings: readonly Finding[] }
  | { readonly kind: 'done'; readonly findings: readonly Finding[]; readonly logged: string | undefined }
