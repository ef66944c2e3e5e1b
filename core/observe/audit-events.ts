import type { EndedRequest } from '../contract/capabilities/access-sink.js'
import type {
  AuditEvent,
  AuditedCall,
  AuditOutcome,
  PublishedChange,
} from '../contract/capabilities/audit-sink.js'
import type { Refusal } from '../contract/errors.js'
import type { Identity } from '../contract/identity.js'
import type { McpCall, McpMessage, McpSubject } from '../contract/message.js'
import { subjectName } from '../mcp/subject-name.js'
import { isJsonObject } from '../toolkit/json-object.js'
import type { ObservedRequest } from './observed-request.js'

const MAX_ACTORS = 8
/** A claim may be as long as a token. */
const MAX_TEXT = 256
const MAX_VERSION = 32
/** A subscription may name a thousand resources: so many events would displace those of other callers. */
const MAX_NAMES = 16

/** The state of a request at its end. */
export interface RequestEnd extends Pick<EndedRequest, 'request' | 'status' | 'durationMs' | 'aborted'> {
  readonly observed: ObservedRequest
  readonly at: number
}

/** The result of a request as a whole. */
export interface Result {
  readonly outcome: AuditOutcome
  readonly causes: readonly string[]
}

export function resultOf({ observed, status, aborted, request }: RequestEnd): Result {
  const { refusal, errorCode, isAnswerUnread } = observed
  const { isMcp } = observed.route
  if (refusal !== undefined)
    return { outcome: refusal.statusCode < 500 ? 'denied' : 'failed', causes: causesOf(refusal) }
  // A client ends the stream of a GET itself, and a server may offer none (405).
  const isStream = isMcp && request.method === 'GET'
  // Many clients leave as soon as they have their answers, before the stream of a POST ends.
  const isCut = aborted && !(status < 400 && errorCode === undefined && (isStream || observed.isAnswered))
  if (isCut || errorCode !== undefined || (status >= 400 && !(isStream && status === 405))) {
    const why = errorCode ?? (isMcp && status >= 400 && status !== 499 ? 'target_status' : undefined)
    return { outcome: 'failed', causes: listed(why, isCut ? 'aborted' : undefined) }
  }
  const unread = isMcp && status === 101 ? 'body_not_read' : observed.body.unreadable
  return { outcome: 'allowed', causes: listed(unread, isAnswerUnread ? 'answer_not_read' : undefined) }
}

const listed = (first: string | undefined, second: string | undefined): readonly string[] =>
  first === undefined && second === undefined ? NONE : [first, second].filter((cause) => cause !== undefined)

const NONE: readonly string[] = []

/** The result of one call: an answer with status 200 may report that the call failed. */
export function resultOfCall(observed: ObservedRequest, { kind, id }: McpCall, result: Result): Result {
  const failure = kind === 'request' ? observed.failureOf(id) : undefined
  if (failure === undefined || result.outcome === 'denied') return result
  return { outcome: 'failed', causes: [failure, ...result.causes] }
}

/** The result of all calls together: that of the first failed call. */
export function resultOfCalls(observed: ObservedRequest, result: Result): Result {
  for (const call of observed.message?.calls ?? []) {
    const own = resultOfCall(observed, call, result)
    if (own.outcome === 'failed') return own
  }
  return result
}

/** The causes of a refusal; for a limit also its name. */
const causesOf = ({ reasons, code }: Refusal): readonly string[] =>
  reasons.length === 0
    ? [code.toLowerCase()]
    : reasons.flatMap(({ cause, detail }) =>
        code === 'TOO_MANY_REQUESTS' && detail !== undefined ? [cause, detail] : [cause],
      )

/** An event for each known call, or for each published change; none for an allowed request without an identity. */
export function auditEvents(ended: RequestEnd, at: string): readonly AuditEvent[] {
  const { observed } = ended
  const { changes, refusal, message } = observed
  const result = resultOf(ended)
  if (changes !== undefined) {
    // Allowed, whatever response the caller got: the change was made.
    const done: Result = { ...result, outcome: 'allowed' }
    return changes.map((server) => eventOf(ended, { at, kind: 'published', result: done, server }))
  }
  const kind = refusal === undefined ? 'called' : 'refused'
  if (message !== undefined) {
    const events = eventsOfCalls(ended, message, { at, kind, result })
    if (events.length > 0) return events
  }
  const isUnread = observed.body.unreadable !== undefined || (ended.status === 101 && observed.route.isMcp)
  if (refusal !== undefined || isUnread) return [eventOf(ended, { at, kind, result })]
  if (ended.request.identity === undefined) return []
  return [eventOf(ended, { at, kind: 'accepted', result })]
}

/** The fields that differ between the events of one request. */
interface EventDetails {
  readonly at: string
  readonly kind: AuditEvent['kind']
  readonly result: Result
  readonly mcp?: AuditedCall
  readonly server?: PublishedChange
}

function eventsOfCalls(
  ended: RequestEnd,
  { calls, protocolVersion }: McpMessage,
  { at, kind, result }: EventDetails,
): readonly AuditEvent[] {
  const events: AuditEvent[] = []
  for (const call of calls) {
    if (call.kind === 'response') continue
    const own = resultOfCall(ended.observed, call, result)
    const { subjects } = call
    const isCut = subjects.length > MAX_NAMES
    const shown = isCut ? { ...own, causes: [...own.causes, 'more_names'] } : own
    for (const subject of subjects.length === 0 ? NAMELESS : subjects.slice(0, MAX_NAMES)) {
      const mcp = auditedCall(call, subject, protocolVersion)
      events.push(eventOf(ended, { at, kind, result: shown, mcp }))
    }
  }
  return events
}

/** The subjects of a call that names none: it has one event too. */
const NAMELESS: readonly undefined[] = [undefined]

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

function auditedCall(
  { method }: McpCall,
  subject: McpSubject | undefined,
  version: string | undefined,
): AuditedCall {
  const mcp: Mutable<AuditedCall> = { method: method.slice(0, MAX_TEXT) }
  if (subject !== undefined) {
    mcp.kind = subject.kind
    mcp.name = subjectName(subject)
  }
  if (version !== undefined) mcp.protocolVersion = version.slice(0, MAX_VERSION)
  return mcp
}

/** Sets field by field: this runs for each call, and spreading parts of an event costs more than everything else. */
function eventOf(
  { observed, request, status, durationMs }: RequestEnd,
  { at, kind, result: { outcome, causes }, mcp, server }: EventDetails,
): AuditEvent {
  const { traceId, refusal } = observed
  const { identity, id: requestId, clientAddress: address, method } = request
  const { url: route } = observed.route
  const event: Mutable<AuditEvent> = {
    at,
    kind,
    requestId,
    address,
    method,
    route,
    status,
    outcome,
    durationMs,
  }
  if (traceId !== undefined) event.traceId = traceId
  if (identity !== undefined) addCaller(event, identity)
  if (mcp !== undefined) event.mcp = mcp
  const policy = refusal && ruleOf(refusal)
  if (policy !== undefined) event.policy = policy
  if (causes.length > 0) event.causes = causes
  if (server !== undefined) event.server = server
  return event
}

function addCaller(event: Mutable<AuditEvent>, { provider, subject, scopes, claims }: Identity): void {
  event.provider = provider
  event.subject = subject.slice(0, MAX_TEXT)
  if (claims['act'] !== undefined) event.actors = actorsIn(claims)
  if (scopes !== undefined) event.scopes = scopes
}

/** The rule that decided: a rule that denies comes before those that only lack a scope. */
function ruleOf({ code, reasons }: Refusal): string | undefined {
  if (code !== 'POLICY_DENIED' && code !== 'INSUFFICIENT_SCOPE') return undefined
  const deciding = reasons.find(({ cause }) => cause === 'denied') ?? reasons[0]
  return deciding?.detail
}

/** The actors for the subject, the latest one first (RFC 8693, 4.1). */
function actorsIn(claims: Identity['claims']): readonly string[] {
  const actors: string[] = []
  for (let act = claims['act']; isJsonObject(act) && actors.length < MAX_ACTORS; act = act['act'])
    if (typeof act['sub'] === 'string') actors.push(act['sub'].slice(0, MAX_TEXT))
  return actors
}
