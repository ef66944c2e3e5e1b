import type { PolicyCaller } from '../contract/capabilities/policy.js'
import { allValues, firstValue } from '../http/flat-headers.js'
import { isPromise } from '../toolkit/deadline.js'
import { FilteredEvents } from './filtered-events.js'
import { aboutChanged, changedHead, checkReadable, unchangedHead } from './filtered-head.js'
import { ResponseBuffer } from './held-responses.js'
import { beginsEvents, beginsJson } from './json.js'
import type { ListFilter } from './list-filter.js'
import type { ResponseHead, ResponseSink, ResponseSource } from './response.js'

const hasNoType = ({ headers }: ResponseHead): boolean =>
  allValues(headers, 'content-type').every((type) => /^\s*(?:text\/plain\b|$)/i.test(type))

/** Holds a response that begins like JSON until its lists are filtered; passes any other response on as it arrives. */
export class FilteredBody implements ResponseSink {
  private readonly held: ResponseBuffer
  private begun: { readonly head: ResponseHead; readonly source: ResponseSource } | undefined
  /** The `Content-Length` of the head. */
  private length = Number.NaN
  private isJson: boolean | undefined
  /** The first bytes, as long as they could begin an event stream. */
  private beginning: Buffer | undefined
  private events: FilteredEvents | undefined
  private discarded = false

  constructor(
    private readonly to: ResponseSink,
    private readonly lists: ListFilter,
    private readonly caller: PolicyCaller,
    private readonly fail: (error: unknown) => void,
    private readonly answerTo: (error: unknown) => Buffer | undefined,
  ) {
    this.held = new ResponseBuffer(lists.budget, lists.timeout, fail)
  }

  begin(head: ResponseHead, source: ResponseSource): void {
    checkReadable(head)
    this.begun = { head, source }
    if (hasNoType(head)) this.beginning = Buffer.alloc(0)
    this.length = Number(firstValue(head.headers, 'content-length') ?? Number.NaN)
  }

  data(chunk: Buffer): boolean {
    if (this.events !== undefined) return this.events.data(chunk)
    if (this.isJson === false) return this.to.data(chunk)
    try {
      this.held.add(chunk)
      this.isJson ??= this.isFor(chunk)
      if (this.isJson === false) return this.pass()
      this.held.count(this.held.size)
      if (this.held.size !== this.length) this.held.startTimer()
    } catch (error) {
      this.fail(error)
    }
    return true
  }

  end(trailers: readonly string[]): boolean {
    if (this.discarded) return true
    if (this.events !== undefined) return this.events.end(trailers)
    if (this.isJson !== true) {
      if (this.isJson === undefined) this.pass()
      return this.to.end(trailers)
    }
    const body = this.held.take()
    const filtered = this.lists.filter(body, this.caller, () => this.discarded)
    if (!isPromise(filtered)) return this.write(body, filtered, trailers)
    filtered.then((bytes) => this.write(body, bytes, trailers)).then(undefined, this.fail)
    return false
  }

  discard(): void {
    this.discarded = true
    this.held.discard()
    if (this.events === undefined) this.to.discard()
    else this.events.discard()
  }

  private start(newLength: number | undefined): void {
    if (this.begun === undefined) return
    const { head, source } = this.begun
    if (newLength !== undefined) this.to.begin(changedHead(head, newLength), source)
    else this.to.begin(this.isJson === true ? unchangedHead(head) : head, source)
  }

  /** Whether the body is JSON. Without a content type some clients guess, and could guess an event stream. */
  private isFor(chunk: Buffer): boolean | undefined {
    const isJson = beginsJson(chunk)
    if (this.begun === undefined || this.beginning === undefined || isJson === true) return isJson
    if (this.beginning.length === 0 && isJson === undefined) return undefined
    this.beginning = Buffer.concat([this.beginning, chunk])
    const isStream = beginsEvents(this.beginning)
    if (isStream !== true) return isStream
    const { head, source } = this.begun
    this.events = new FilteredEvents(this.to, this.lists, this.caller, this.fail, this.answerTo)
    this.events.begin(head, source)
    this.held.count(0)
    return false
  }

  private pass(): boolean {
    const bytes = this.held.take()
    this.held.count(0)
    if (this.events !== undefined) return this.events.data(bytes)
    this.start(undefined)
    return bytes.length === 0 || this.to.data(bytes)
  }

  private write(body: Buffer, filtered: Buffer, trailers: readonly string[]): boolean {
    if (this.discarded) return true
    const isChanged = filtered !== body
    this.start(isChanged ? filtered.length : undefined)
    this.held.count(0)
    this.to.data(filtered)
    return this.to.end(isChanged ? aboutChanged(trailers) : trailers)
  }
}
