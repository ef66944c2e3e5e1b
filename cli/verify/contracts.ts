import type { FastifyRequest } from 'fastify'
import {
  AuditSink,
  Authenticator,
  GatewayError,
  Guard,
  HeaderSource,
  Refusal,
  Source,
  type Verdict,
} from 'sallyport'
import { isMapping } from '../config/path.js'
import { type Chart, messageOf } from '../findings/chart.js'

/** What a plugin provides, once it is set up. */
export interface Provided {
  readonly guards: readonly Guard[]
  readonly authenticators: readonly Authenticator[]
  readonly headerSources: readonly HeaderSource[]
  readonly sources: readonly Source[]
  readonly auditSinks: readonly AuditSink[]
}

export const judged = [Guard, Authenticator, HeaderSource, Source, AuditSink]

/** A guard returns or throws a refusal, whatever the request looks like. */
export async function judgeGuard(chart: Chart, guard: Guard, request: FastifyRequest): Promise<void> {
  try {
    await guard(request)
  } catch (error) {
    if (error instanceof Refusal) return
    const detail = `on ${request.method} ${request.url.slice(0, 40)} it throws: ${messageOf(error)}`
    const advice =
      'a guard returns to let a request pass, or throws a Refusal; anything else shuts everybody out'
    chart.wrong('guard', 'GUARD_THROWS', detail, advice)
  }
}

/** Nobody has issued these, so nobody may be let in by them, and none of them may break anything. */
export async function judgeAuthenticator(
  chart: Chart,
  authenticator: Authenticator,
  request: FastifyRequest,
): Promise<void> {
  const { kind } = request.credentials
  try {
    const verdict: unknown = await authenticator.authenticate(request)
    if (isVerdict(verdict) && 'rejection' in verdict) return
    if (isVerdict(verdict)) {
      const detail =
        kind === 'bearer' ? 'a token that nobody issued is accepted' : 'a request without a token is accepted'
      const advice = 'answer { rejection } unless the token was verified'
      chart.wrong('authenticator', 'AUTHENTICATOR_LAX', detail, advice)
      return
    }
    const advice = 'answer { identity } or { rejection: { kind, cause } }'
    chart.wrong('authenticator', 'VERDICT_MALFORMED', 'its answer is no verdict', advice)
  } catch (error) {
    const advice =
      'answer { rejection } for bad credentials, so that the next one in the list can still accept'
    chart.wrong('authenticator', 'AUTHENTICATOR_THROWS', `it throws: ${messageOf(error)}`, advice)
  }
}

const isVerdict = (value: unknown): value is Verdict => {
  if (!isMapping(value)) return false
  const { identity, rejection } = value
  if (isMapping(identity)) return typeof identity['subject'] === 'string'
  return isMapping(rejection) && ['notMine', 'invalid', 'unavailable'].includes(String(rejection['kind']))
}

export function judgeHeaders(chart: Chart, source: HeaderSource, request: FastifyRequest): void {
  const { names } = source
  try {
    const loud = names.filter((name) => name !== name.toLowerCase())
    const undeclared = source.headers(request).filter(([name]) => !names.includes(name))
    if (loud.length + undeclared.length === 0) return
    const wrong = [...loud, ...undeclared.map(([name]) => name)].join(', ')
    const advice = 'list every header in `names`, in lower case: the copies of the caller are removed by it'
    chart.wrong(
      'header source',
      'HEADERS_UNDECLARED',
      `not in its names, or not in lower case: ${wrong}`,
      advice,
    )
  } catch (error) {
    const advice = 'answer an empty list when there is nothing to add'
    chart.wrong('header source', 'HEADERS_THROW', `it throws: ${messageOf(error)}`, advice)
  }
}

export function judgeAuditSink(chart: Chart, sink: AuditSink): void {
  try {
    const answer: unknown = sink({
      kind: 'refused',
      at: new Date().toISOString(),
      requestId: 'verify-1',
      method: 'GET',
      route: '/verify',
    })
    if (answer === undefined) return
    const advice =
      'queue what takes time and return at once: a promise is not awaited, and its failure has no owner'
    chart.wrong('audit sink', 'SINK_ANSWERS', 'it answers something, perhaps a promise', advice)
  } catch (error) {
    chart.wrong(
      'audit sink',
      'SINK_THROWS',
      `it throws: ${messageOf(error)}`,
      'catch what your own writing throws',
    )
  }
}

/** What a source hands over must be readable; that its place cannot be reached from here is no fault of it. */
export async function judgeSource(chart: Chart, source: Source): Promise<void> {
  const { signal } = new AbortController()
  try {
    const fetched: unknown = await source.fetch({ signal, bookmark: undefined, held: 0 })
    const fault = await fetchedFault(fetched)
    if (fault === undefined) return
    const advice = "answer { kind: 'whole', payloads } with JSON as bytes, or { kind: 'unchanged' }"
    chart.wrong('source', 'SOURCE_MALFORMED', fault, advice)
  } catch (error) {
    const advice = 'give options with --with for a place that can be read from here'
    const known = error instanceof GatewayError ? messageOf(error) : `it throws ${messageOf(error)}`
    chart.warning('source', 'SOURCE_UNREAD', `nothing was read: ${known}`, advice)
  }
}

async function fetchedFault(fetched: unknown): Promise<string | undefined> {
  if (!isMapping(fetched)) return 'it fetches nothing'
  const { kind, payloads } = fetched
  if (kind === 'unchanged') return 'it says that nothing changed to somebody who holds nothing yet'
  if (kind !== 'whole' && kind !== 'changes') return 'its answer has no known kind'
  if (!isIterable(payloads)) return 'its payloads cannot be read one after the other'
  for await (const payload of payloads) {
    if (!(payload instanceof Uint8Array)) return 'a payload is not bytes'
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload))
    } catch {
      return 'a payload is not JSON in UTF-8'
    }
  }
  return undefined
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> =>
  typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)
