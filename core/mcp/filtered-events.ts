import type { PolicyCaller } from '../contract/capabilities/policy.js'
import { isPromise } from '../toolkit/deadline.js'
import { EventSplitter, StreamEvent } from './events.js'
import { aboutChanged, changedHead, checkReadable } from './filtered-head.js'
import { MAX_HELD, ResponseBuffer } from './held-responses.js'
import { beginsJson } from './json.js'
import type { ListFilter } from './list-filter.js'
import type { ResponseHead, ResponseSink, ResponseSource } from './response.js'
import { largeResponse, malformedResponse } from './response.js'

/** Holds each event of a stream until the lists in its data are filtered. */
export class FilteredEvents implements ResponseSink {
  private readonly held: ResponseBuffer
  private readonly splitter = new EventSplitter(MAX_HELD)
  /** Complete events, in their order, that are not filtered yet. */
  private waiting: Buffer[] = []
  private source: ResponseSource | undefined
  private trailers: readonly string[] | undefined
  private isFiltering = false
  private hasEnded = false
  private isFirst = true
  private discarded = false

  constructor(
    private readonly to: ResponseSink,
    private readonly lists: ListFilter,
    private readonly caller: PolicyCaller,
    private readonly report: (error: unknown) => void,
    private readonly answerTo: (error: unknown) => Buffer | undefined,
  ) {
    this.held = new ResponseBuffer(lists.budget, lists.timeout, this.fail)
  }

  begin(head: ResponseHead, source: ResponseSource): void {
    checkReadable(head)
    this.source = source
    // The caller is ready for more, but the policies may still be deciding about an event.
    const resume = (): void => {
      if (!this.isFiltering) source.resume()
    }
    this.to.begin(changedHead(head), { resume, abort: () => source.abort() })
  }

  data(chunk: Buffer): boolean {
    if (this.discarded) return true
    try {
      const parts = this.splitter.split(chunk)
      if (parts.length > 0) this.held.stopTimer()
      for (const { bytes, isWhole } of parts) {
        if (!isWhole) throw largeResponse()
        this.waiting.push(bytes)
      }
      return this.advance()
    } catch (error) {
      this.fail(error)
      return true
    }
  }

  end(trailers: readonly string[]): boolean {
    if (this.discarded) return true
    // Some clients take an event that the end of the stream has cut off for a complete one.
    this.held.stopTimer()
    if (this.splitter.held > 0) this.waiting.push(this.splitter.rest())
    this.trailers = trailers
    this.advance()
    return this.hasEnded
  }

  discard(): void {
    this.discarded = true
    this.waiting = []
    this.held.discard()
    this.to.discard()
  }

  /** Sends an error as the answer, where there is room for it: a client would otherwise wait until its time limit. */
  private readonly fail = (error: unknown): void => {
    if (this.discarded) return
    this.discarded = true
    try {
      const answer = this.answerTo(error)
      if (answer !== undefined) {
        this.to.data(answer)
        this.to.end([])
      }
    } catch {
      // The caller has too many bytes to read already, and is cut off without the answer. A rethrow would end the
      // process.
    }
    this.report(error)
  }

  /** Passes on the events that the policies have decided about; `false` when the target has to wait. */
  private advance(flowed = true): boolean {
    if (this.isFiltering) return this.pause()
    const passed: Buffer[] = []
    const { waiting } = this
    for (const [index, event] of waiting.entries()) {
      const filtered = this.filtered(event)
      if (!isPromise(filtered)) {
        passed.push(filtered)
        continue
      }
      filtered.then((bytes) => this.goOn(bytes)).then(undefined, this.fail)
      this.isFiltering = true
      this.waiting = waiting.slice(index)
      this.pause()
      this.write(passed)
      return false
    }
    this.waiting = []
    this.held.count(this.splitter.held)
    const flows = this.write(passed) && flowed
    if (this.trailers === undefined) return this.waitForMore(flows)
    this.held.count(0)
    this.hasEnded = this.to.end(aboutChanged(this.trailers))
    return true
  }

  /**
   * While a slow caller reads, the incomplete event does not count: it is one chunk at most, and room is for all
   * callers.
   */
  private waitForMore(flows: boolean): boolean {
    this.held.count(flows ? this.splitter.held : 0)
    if (flows && this.splitter.held > 0) this.held.startTimer()
    else this.held.stopTimer()
    return flows
  }

  private pause(): false {
    this.held.stopTimer()
    this.held.count(this.splitter.held + this.waiting.reduce((sum, { length }) => sum + length, 0))
    return false
  }

  private goOn(bytes: Buffer): void {
    if (this.discarded) return
    this.isFiltering = false
    this.waiting = this.waiting.slice(1)
    this.pause()
    const flows = this.advance(this.to.data(bytes))
    if (flows && this.trailers === undefined) this.source?.resume()
  }

  /** Rejects instead of throwing, so that the events before a malformed one are passed on first. */
  private filtered(event: Buffer): Buffer | Promise<Buffer> {
    try {
      return this.withShown(event)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  private withShown(event: Buffer): Buffer | Promise<Buffer> {
    const parsed = new StreamEvent(event, this.isFirst)
    this.isFirst = false
    if (parsed.isTooLong) throw malformedResponse()
    const { data } = parsed
    // A target that sends JSON instead of the announced events would escape the filter.
    if (beginsJson(event) === true) throw malformedResponse()
    if (data === undefined || beginsJson(data) !== true) return event
    const filtered = this.lists.filter(data, this.caller, () => this.discarded)
    if (isPromise(filtered)) return filtered.then((bytes) => (bytes === data ? event : parsed.with(bytes)))
    return event
  }

  private write(passed: readonly Buffer[]): boolean {
    if (passed.length === 0) return true
    return this.to.data(passed.length === 1 && passed[0] !== undefined ? passed[0] : Buffer.concat(passed))
  }
}
