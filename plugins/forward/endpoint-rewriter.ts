import { EventSplitter, StreamEvent } from 'sallyport/toolkit'

// Bytes, more than any URL that servers accept. A longer event passes unchanged, so that little is held back.
const MAX_HELD = 16 * 1024

/**
 * Changes the data of `endpoint` events in an event stream (HTML, 9.2), and passes everything else byte for byte. An
 * event is held back until it is complete: its name may come after its data.
 */
export class EndpointRewriter {
  private readonly splitter = new EventSplitter(MAX_HELD)
  private isFirst = true

  constructor(private readonly replacementFor: (data: string) => string) {}

  rewrite(chunk: Buffer): Buffer {
    const passed = this.splitter.split(chunk).map(({ bytes, isWhole }) => {
      const rewritten = isWhole ? this.rewritten(bytes) : bytes
      this.isFirst = false
      return rewritten
    })
    return passed.length === 1 && passed[0] !== undefined ? passed[0] : Buffer.concat(passed)
  }

  /** The bytes of an event that the end of the stream has cut off. */
  end(): Buffer {
    return this.splitter.rest()
  }

  private rewritten(bytes: Buffer): Buffer {
    if (!bytes.includes('endpoint')) return bytes
    const event = new StreamEvent(bytes, this.isFirst)
    // The last name counts. Without data the event refers to the stream itself, or to nothing.
    if (event.field('event').at(-1) !== 'endpoint' || event.data === undefined || event.data.length === 0)
      return bytes
    const value = event.data.toString()
    const replacement = this.replacementFor(value)
    return replacement === value ? bytes : event.with(Buffer.from(replacement))
  }
}
