import { many } from '../capability.js'
import type { McpSubject } from '../message.js'
import type { PublicationState } from './publications.js'

/**
 * What became of one request, or of one call in it, once it has ended. It holds no token, query, argument or result.
 */
export interface AuditEvent {
  /**
   * `called`: an MCP server was called, once for each call of a batch. `refused`: the gate refused the request, once for
   * each call that was read of it. `published`: a registry was changed. `accepted`: any other request of a known caller.
   */
  readonly kind: 'accepted' | 'refused' | 'called' | 'published'
  /** When it had ended. */
  readonly at: string
  readonly requestId: string
  readonly method: string
  /** The route as it was declared, never the requested path. */
  readonly route: string
  /** 499 when the client disconnected before the response began. */
  readonly status?: number
  readonly provider?: string
  readonly subject?: string
  /** Who acts for the subject, the last one first (RFC 8693, `act`). */
  readonly actors?: readonly string[]
  /** Those of the caller's credentials. */
  readonly scopes?: readonly string[]
  /** The client's, as far as the proxies in front are trusted. */
  readonly address?: string
  readonly mcp?: AuditedCall
  /** `denied`: the gate refused it. `failed`: it could not be done, or was not done to its end. */
  readonly outcome?: AuditOutcome
  /** The rule of a policy that denied it. */
  readonly policy?: string
  /** Why it was refused or failed, in words of a small set. */
  readonly causes?: readonly string[]
  /** From the request's headers to the end of its response. */
  readonly durationMs?: number
  /** In hexadecimal. */
  readonly traceId?: string
  /**
   * With `refused`, of callers without an identity: so many further requests of this kind, from so many addresses, are
   * counted in this event. It has the method, route and id of the latest.
   */
  readonly more?: number
  readonly addresses?: number
  /** With `published`: what changed. `version` is missing where all of a name changed. */
  readonly server?: PublishedChange
}

export type AuditOutcome = 'allowed' | 'denied' | 'failed'

/** What a call asked for. */
export interface AuditedCall {
  readonly method: string
  readonly kind?: McpSubject['kind']
  /** Of a resource without the query of its URI. */
  readonly name?: string
  readonly protocolVersion?: string
}

export interface PublishedChange {
  readonly registry: string
  readonly name: string
  readonly version?: string
  readonly action: 'publish' | 'status' | 'purge'
  readonly before?: PublicationState
  /** A deletion is an action `status` with the status `deleted` after it. */
  readonly after: PublicationState
  /** Where all of a name changed: how many versions that were, and of the first 1,000 of them what they were before. */
  readonly count?: number
  readonly versions?: readonly { readonly version: string; readonly before?: PublicationState | undefined }[]
}

/**
 * Gets each event soon after its request has ended, in the order in which they did. It must not block: it queues what
 * takes time. Its errors are logged.
 */
export type AuditSink = (event: AuditEvent) => void

export const AuditSink = many<AuditSink>('audit sink', { shared: true, observes: true })
