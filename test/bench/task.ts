import type { Issuer } from '#kit/issuer.js'
import type { Contestant } from './contestant.js'

/** What a proxy in front of the target has to do. Each contestant is told it in its own words. */
export interface Task {
  readonly target: number
  readonly incoming?: Incoming
  readonly bearer?: string
  readonly headers: Readonly<Record<string, string>>
  /** Exchanges the caller's token for one of the target. */
  readonly exchange?: boolean
  /** Callers speak https. */
  readonly tls?: TlsFiles
}

/** PEM files of a certificate, of its key, and of both. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly both: string
}

export type Incoming =
  | { readonly kind: 'jwt'; readonly issuer: Issuer; readonly keyFile: string }
  | { readonly kind: 'introspection'; readonly issuer: Issuer }

/** A kind of proxy. */
export interface ProxyKind {
  readonly name: string
  /** What has to be installed, and the Debian packages that have it; nothing for what comes with this package. */
  readonly needs?: { readonly command: string; readonly file?: string; readonly packages: string }
  can(task: Task): boolean
  /** Starts one with its files in this folder. */
  start(task: Task, home: string): Promise<Contestant>
}
