import type { Finding } from '../findings/chart.js'

/** What the process that holds the plugin is told. */
export interface Job {
  readonly file: string
  readonly folder: string
  readonly about: string
  readonly options: Readonly<Record<string, unknown>> | undefined
  /** Stands where a secret would, so that it is known again wherever it comes out. */
  readonly canary: string
}

/** What it tells on the way: silence means that nothing can run there any more. */
export type Word =
  | { readonly kind: 'alive' }
  | { readonly kind: 'at'; readonly step: string; readonly findings: readonly Finding[] }
  | { readonly kind: 'done'; readonly findings: readonly Finding[]; readonly logged: string | undefined }
