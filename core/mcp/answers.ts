import type { FastifyRequest } from 'fastify'
import type { McpCall } from '../contract/message.js'
import { firstValue } from '../http/flat-headers.js'
import type { ByteBudget } from '../toolkit/byte-budget.js'
import { isJsonObject, type JsonObject } from '../toolkit/json-object.js'
import { type CallFailure, type CallObserver, callObserverOf } from './call-observer.js'
import { EventSplitter, StreamEvent } from './events.js'
import { isEventStream, type ResponseHead, type ResponseSink, type ResponseSource } from './response.js'

/** Longer answers and events are not parsed: parsing would block all other requests. */
const MAX_READ = 1024 * 1024

// Both `error` and `isError` end like this.
const FAILURE = Buffer.from('rror"')
const PLAIN = /^(?:identity)?$/i
const MAX_TOOLS = 1000
const TOOL_NAME = /^[\w./-]{1,128}$/

/** Reports the results of a request's calls to its observer, if it has one. `room` limits the bytes kept for that. */
export function readingAnswers(
  to: ResponseSink,
  head: ResponseHead,
  request: FastifyRequest,
  room: ByteBudget,
): ResponseSink {
  const observer = callObserverOf(request)
  if (observer?.wantsAnswers !== true) return to
  // An unparsed request body is parsed only when its answer reports a failure, or may last for hours.
  const { isComing, unparsed } = observer.body
  const isWaiting = isComing || (unparsed !== undefined && !isEventStream(head))
  if (!isWaiting && requestsOf(observer).length === 0) return to
  if (PLAIN.test(firstValue(head.headers, 'content-encoding') ?? ''))
    return new ReadResponse(to, observer, head, room)
  if (isComing || requestsOf(observer).length > 0) observer.answerNotRead()
  return to
}

const requestsOf = ({ message }: CallObserver): readonly McpCall[] =>
  message?.calls.filter(({ kind }) => kind === 'request') ?? []

/** Passes a response on as it arrives, and keeps a copy of the bytes that it has to parse. */
class ReadResponse implements ResponseSink {
  private readonly length: number
  private readonly events: EventSplitter | undefined
  private isFirst = true
  private chunks: Buffer[] = []
  private kept = 0
  private isOver = false

  constructor(
    private readonly to: ResponseSink,
    private readonly observer: CallObserver,
    head: ResponseHead,
    private readonly room: ByteBudget,
  ) {
    this.length = Number(firstValue(head.headers, 'content-length') ?? Number.NaN)
    if (isEventStream(head)) this.events = new EventSplitter(MAX_READ)
  }

  begin(head: ResponseHead, source: ResponseSource): void {
    this.to.begin(head, source)
  }

  data(chunk: Buffer): boolean {
    const flows = this.to.data(chunk)
    if (!this.isOver) this.read(chunk)
    return flows
  }

  end(trailers: readonly string[]): boolean {
    const isDone = this.to.end(trailers)
    this.finish()
    return isDone
  }

  discard(): void {
    this.forget()
    this.to.discard()
  }

  private read(chunk: Buffer): void {
    if (this.events === undefined) this.keep(chunk)
    else this.readEvents(this.events, chunk)
  }

  private readEvents(events: EventSplitter, chunk: Buffer): void {
    for (const { bytes, isWhole, isLast } of events.split(chunk)) {
      if (isWhole) reportAll(this.observer, new StreamEvent(bytes, this.isFirst).data)
      else if (isLast) this.observer.answerNotRead()
      this.isFirst = false
    }
    this.count(events.held)
  }

  private keep(chunk: Buffer): void {
    if (this.chunks.length === 0 && this.needsNoParsing(chunk)) return
    this.chunks.push(chunk)
    this.count(this.kept + chunk.length)
    // The client may leave before the target ends the response.
    if (this.kept === this.length) this.finish()
  }

  /**
   * Most answers report no failure and arrive in one piece, and a search is faster than parsing. A target that writes
   * these letters as escapes hides its own failure; it could as well report none.
   */
  private needsNoParsing(chunk: Buffer): boolean {
    return chunk.length === this.length && !chunk.includes(FAILURE) && !this.mayListTools
  }

  private get mayListTools(): boolean {
    const { toolsListed, body } = this.observer
    if (toolsListed === undefined) return false
    // Without the method's first part: some clients write the slash as an escape.
    if (body.unparsed !== undefined) return body.unparsed.includes('/list"')
    return requestsOf(this.observer).some(({ method }) => method === 'tools/list')
  }

  /** Sets how many bytes are kept; without room for them, the rest of the response is not parsed. */
  private count(bytes: number): void {
    const more = bytes - this.kept
    if (bytes <= MAX_READ && (more <= 0 || this.room.reserve(more))) {
      if (more < 0) this.room.free(-more)
      this.kept = bytes
      return
    }
    this.forget()
    this.observer.answerNotRead()
  }

  private finish(): void {
    const { chunks } = this
    if (this.isOver) return
    this.forget()
    if (chunks.length > 0) reportAll(this.observer, Buffer.concat(chunks))
  }

  private forget(): void {
    this.room.free(this.kept)
    this.kept = 0
    this.chunks = []
    this.isOver = true
  }
}

/** Bytes that are not JSON hold no answers. If a member occurs twice, the last one counts. */
function reportAll(observer: CallObserver, bytes: Buffer | undefined): void {
  if (bytes === undefined) return
  const text = bytes.toString()
  let value: unknown
  try {
    // Some clients skip the byte order mark.
    value = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
  } catch {
    return
  }
  observer.body.parse()
  for (const message of Array.isArray(value) ? value : [value])
    if (isJsonObject(message)) report(observer, message)
}

function report(observer: CallObserver, { id, method, result, error = null }: JsonObject): void {
  if (method !== undefined || (result === undefined && error === null)) return
  const failure: CallFailure | undefined =
    error !== null
      ? 'rpc_error'
      : isJsonObject(result) && result['isError'] === true
        ? 'tool_error'
        : undefined
  if (failure !== undefined && observer.body.isComing) {
    observer.answerNotRead()
    return
  }
  const code = isJsonObject(error) && Number.isSafeInteger(error['code']) ? Number(error['code']) : undefined
  const call = requestsOf(observer).find((each) => each.id === id)
  if (call === undefined) {
    if (failure === 'rpc_error' && (id ?? null) === null) observer.restFailed(failure, code)
    return
  }
  observer.callAnswered(call.id, failure, code)
  if (failure === undefined && call.method === 'tools/list') observer.toolsListed?.(toolsIn(result))
}

/** The tools whose names can be labels of metrics. */
function toolsIn(result: unknown): readonly string[] {
  const tools: unknown = isJsonObject(result) ? result['tools'] : undefined
  if (!Array.isArray(tools)) return []
  return tools
    .map((tool: unknown) => (isJsonObject(tool) ? tool['name'] : undefined))
    .filter((name): name is string => typeof name === 'string' && TOOL_NAME.test(name))
    .slice(0, MAX_TOOLS)
}
