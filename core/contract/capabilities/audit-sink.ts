import { many } from '../capability.js'
import type { PublicationState } from './publications.js'

/** One decision about one request. It holds no token, query or body. */
export interface AuditEvent {
  readonly kind: 'accepted' | 'refused' | 'published'
  readonly at: string
  readonly requestId: string
  readonly method: string
  /** The route as it was declared, never the requested path. */
  readonly route: string
  readonly status?: number
  readonly provider?: string
  readonly subject?: string
  /** The client's, as far as the proxies in front are trusted. */
  readonly address?: string
  readonly causes?: readonly string[]
  /** With `published`: what changed. `version` is missing where all of a name changed. */
  readonly server?: PublishedChange
}

export interface PublishedChange {
  readonly registry: string
  readonly name: string
  readonly version?: string
  readonly action: 'publish' | 'status'
  readonly before?: PublicationState
  /** A deletion is an action `status` with the status `deleted` after it. */
  readonly after: PublicationState
  /** Where all of a name changed: how many versions that were, and of the first 1,000 of them what they were before. */
  readonly count?: number
  readonly versions?: readonly { readonly version: string; readonly before?: PublicationState | undefined }[]
}

/** Gets an event for every accepted or refused request. It must not block: it queues what takes time. Its errors are logged. */
export type AuditSink = (event: AuditEvent) => void

export const AuditSink = many<AuditSink>('audit sink', { shared: true, observes: true })
