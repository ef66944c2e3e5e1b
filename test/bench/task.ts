import type { Issuer } from '#kit/issuer.js'
import type { Contestant } from './contestant.js'

/** The work of a proxy in front of the target. Each contestant has its own configuration for it. */
export interface Task {
  readonly target: number
  readonly incoming?: Incoming
  readonly bearer?: string
  readonly headers: Readonly<Record<string, string>>
  /** The proxy exchanges the caller's token for one of the target. */
  readonly exchange?: boolean
  /** Callers connect over https. */
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
  /** The program that must be installed, and its Debian packages; undefined when it comes with this package. */
  readonly needs?: { readonly command: string; readonly file?: string; readonly packages: string }
  can(task: Task): boolean
  /** Starts a proxy of this kind, with its files in this folder. */
  start(task: Task, home: string): Promise<Contestant>
}
