import { many } from '../capability.js'

/** One decision about one request. It holds no token, query or body. */
export interface AuditEvent {
  readonly kind: 'accepted' | 'refused'
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
}

/** Gets an event for every accepted or refused request. It must not block: it queues what takes time. Its errors are logged. */
export type AuditSink = (event: AuditEvent) => void

export const AuditSink = many<AuditSink>('audit sink', { shared: true, observes: true })
