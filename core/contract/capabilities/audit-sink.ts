import { many } from '../capability.js'

/** One decision about one request. It holds no token, query or body. */
export interface AuditEvent {
  readonly kind: 'accepted' | 'refused'
  readonly at: string
  readonly requestId: string
  readonly method: string
  /** The route as it was declared, never the path that was asked for. */
  readonly route: string
  readonly status?: number
  readonly provider?: string
  readonly subject?: string
  readonly causes?: readonly string[]
}

/** Receives decisions. It must not block: it queues what takes time, and what it throws is logged and dropped. */
export type AuditSink = (event: AuditEvent) => void

export const AuditSink = many<AuditSink>('audit sink', { shared: true })
