import type { Finding } from '../findings/finding-list.js'

/** What the process with the plugin gets to do. */
export interface Job {
  readonly file: string
  readonly folder: string
  readonly about: string
  readonly options: Readonly<Record<string, unknown>> | undefined
  /** Takes the place of a secret, so that it is recognized in any output. */
  readonly canary: string
}

/** What it reports. Without a message for some time, the plugin blocks its thread. */
export type Message =
  | { readonly kind: 'alive' }
  | { readonly kind: 'at'; readonly step: string; readonly findings: readonly Finding[] }
  | { readonly kind: 'done'; readonly findings: readonly Finding[]; readonly logged: string | undefined }
