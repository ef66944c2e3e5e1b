import { many } from '../capability.js'
import type { McpSubject } from '../message.js'
import type { PublicationState } from './publications.js'

/** The outcome of one request, or of one call in it, after its end. It holds no token, query, argument or result. */
export interface AuditEvent {
  /**
   * `called`: an MCP server was called; one event for each call of a batch. `refused`: the gate refused the request;
   * one event for each call that the gate had read. `published`: a registry was changed. `accepted`: any other
   * request of a known caller.
   */
  readonly kind: 'accepted' | 'refused' | 'called' | 'published'
  /** When the request ended, in ISO 8601. */
  readonly at: string
  readonly requestId: string
  readonly method: string
  /** The route as it was declared, never the requested path. */
  readonly route: string
  /** 499 when the client disconnected before the response began. */
  readonly status?: number
  readonly provider?: string
  readonly subject?: string
  /** The actors for the subject, the last one first (RFC 8693, `act`). */
  readonly actors?: readonly string[]
  /** The scopes of the caller's credentials. */
  readonly scopes?: readonly string[]
  /** The client's address, as far as the gateway trusts the proxies in front. */
  readonly address?: string
  readonly mcp?: AuditedCall
  /** `denied`: the gate refused it. `failed`: the gateway or the target did not complete it. */
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
   * With `refused`, for callers without an identity: the event stands for `more` further requests of this kind, from
   * `addresses` addresses. It has the method, route and id of the latest.
   */
  readonly more?: number
  readonly addresses?: number
  /** With `published`: the change. Its `version` is missing where all versions of a name changed. */
  readonly server?: PublishedChange
}

export type AuditOutcome = 'allowed' | 'denied' | 'failed'

/** The call that the event reports. */
export interface AuditedCall {
  readonly method: string
  readonly kind?: McpSubject['kind']
  /** For a resource, its URI without the query. */
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
  /** Where all versions of a name changed: their number, and the state before the change of the first 1,000. */
  readonly count?: number
  readonly versions?: readonly { readonly version: string; readonly before?: PublicationState | undefined }[]
}

/**
 * Gets each event soon after the end of its request, in the order of these ends. It must not block: it queues work
 * that takes time. The gateway logs its errors.
 */
export type AuditSink = (event: AuditEvent) => void

export const AuditSink = many<AuditSink>('audit sink', { shared: true, observes: true })
