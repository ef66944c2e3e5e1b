import type { FastifyRequest } from 'fastify'
import type { McpCall } from 'sallyport'
import { bodyReplaced, type ObservedRequest, observationOf } from 'sallyport/toolkit'
import { AnswerEvents } from './answer-events.js'
import { type Answer, UNREADABLE } from './answer-parts.js'
import { AnswerScanner } from './answer-scanner.js'
import type { Body } from './body.js'
import { firstValue } from './headers.js'
import { isEventStream, type ResponseSink } from './response-writer.js'
import { withTrace } from './trace-meta.js'
import type { Call, ResponseHead } from './transport.js'

/** Tells the observers of a request what it calls. The body to send has the trace in it, where a tracer wants that. */
export function observedBody(request: FastifyRequest, body: Buffer | Body | undefined): typeof body {
  const observed = observationOf(request)
  if (observed === undefined) return body
  if (!Buffer.isBuffer(body)) {
    observed.bodyRead(undefined)
    observed.body.isComing = body !== undefined
    body?.copyTo((whole) => {
      observed.body.isComing = false
      observed.bodyRead(whole)
    })
    return body
  }
  observed.bodyRead(body)
  if (!observed.intoMeta || observed.message === undefined || hasDigest(request)) return body
  const sent = withTrace(body, observed.traceHeaders)
  if (sent !== body) bodyReplaced(request, sent)
  return sent
}

interface WithTrailers extends Pick<FastifyRequest, 'headers'> {
  /** A dispatched request has none, whatever the types of Node say. */
  readonly raw: { readonly rawTrailers?: readonly string[] | undefined }
}

const DIGESTS = ['content-digest', 'repr-digest', 'digest', 'content-md5']

/** They are of the bytes that came. Those in trailers are announced, or are here with the body. */
function hasDigest({ headers, raw }: WithTrailers): boolean {
  const trailers = [...(headers.trailer ?? '').split(','), ...(raw.rawTrailers ?? [])]
  const inTrailers = new Set(trailers.map((name) => name.trim().toLowerCase()))
  return DIGESTS.some((name) => headers[name] !== undefined || inTrailers.has(name))
}

/** Tells the observers of a request, if there are any, what became of its calls. */
export function observing(to: ResponseSink, head: ResponseHead, request: FastifyRequest): ResponseSink {
  const observed = observationOf(request)
  if (observed?.wantsAnswers !== true) return to
  // One that can wait is parsed when its answer tells of a failure, or may last for hours.
  const { isComing, unparsed } = observed.body
  const isWaiting = isComing || (unparsed !== undefined && !isEventStream(head))
  if (!isWaiting && callsOf(observed).length === 0) return to
  if (isPlain(head)) return new ObservedResponse(to, observed, head)
  if (isComing || callsOf(observed).length > 0) observed.answerNotRead()
  return to
}

const callsOf = ({ message }: ObservedRequest): readonly McpCall[] =>
  message?.calls.filter(({ kind }) => kind === 'request') ?? []

const isPlain = ({ headers }: ResponseHead): boolean =>
  PLAIN.test(firstValue(headers, 'content-encoding') ?? '')

const PLAIN = /^(?:identity)?$/i

function tell(observed: ObservedRequest, { id, failure, code, tools }: Answer): void {
  const calls = callsOf(observed)
  if (id === UNREADABLE || (failure !== undefined && observed.body.isComing)) {
    observed.answerNotRead()
    return
  }
  const call = calls.find((each) => each.id === id)
  if (call === undefined) {
    if (failure === 'rpc_error' && (id ?? null) === null) observed.restFailed(failure, code)
    return
  }
  observed.callAnswered(call.id, failure, code)
  if (failure === undefined && call.method === 'tools/list') observed.toolsListed?.(tools)
}

/** Passes a response on as it comes, and has it read. */
class ObservedResponse implements ResponseSink {
  private reader: AnswerEvents | AnswerScanner | undefined

  constructor(
    private readonly to: ResponseSink,
    private readonly observed: ObservedRequest,
    private readonly head: ResponseHead,
  ) {}

  begin(head: ResponseHead, call: Call): void {
    this.to.begin(head, call)
  }

  data(chunk: Buffer): boolean {
    const flows = this.to.data(chunk)
    if (this.reader === undefined && this.tellsNothing(chunk)) return flows
    this.reader ??= this.readerFor()
    this.reader.scan(chunk)
    return flows
  }

  end(trailers: readonly string[]): boolean {
    return this.to.end(trailers)
  }

  discard(): void {
    this.to.discard()
  }

  /**
   * Most answers tell of no failure, and are there in one piece: a search is faster than a scan. A target that writes these
   * letters as escapes hides its own failure, which it could do by telling none.
   */
  private tellsNothing(chunk: Buffer): boolean {
    const isWhole = chunk.length === Number(firstValue(this.head.headers, 'content-length'))
    return isWhole && !chunk.includes(FAILURE) && !this.mayListTools
  }

  private get mayListTools(): boolean {
    const { toolsListed, body } = this.observed
    if (toolsListed === undefined) return false
    const { unparsed } = body
    // Some write the slash as an escape.
    if (unparsed !== undefined) return unparsed.includes('/list"')
    return callsOf(this.observed).some(({ method }) => method === 'tools/list')
  }

  private readerFor(): AnswerEvents | AnswerScanner {
    this.observed.body.parse()
    const scanner = new AnswerScanner((answer) => tell(this.observed, answer))
    return isEventStream(this.head) ? new AnswerEvents(scanner) : scanner
  }
}

// The end of `error` and of `isError`.
const FAILURE = Buffer.from('rror"')
