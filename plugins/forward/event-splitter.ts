import { CARRIAGE_RETURN, LINE_FEED, LineBreaks } from './line-breaks.js'
import type { ResponseBuffer } from './response-buffer.js'

const COLON = 0x3a

/** Cuts an event stream (HTML, 9.2) into events, comments between them, and line feeds after a carriage return. */
export class EventSplitter {
  private isInLine = false
  private isComment = false
  private afterReturn = false

  /** What is incomplete stays in `held`. */
  split(chunk: Buffer, held: ResponseBuffer): Buffer[] {
    const parts: Buffer[] = []
    const breaks = new LineBreaks(chunk)
    let start = 0
    for (let line = 0; line < chunk.length; ) {
      const end = breaks.next(line)
      const isFirst = line === start && held.size === 0
      if (end > line) this.goOn(isFirst && chunk[line] === COLON)
      if (end === chunk.length) break
      line = end + 1
      if (!this.endsPart(chunk[end] ?? 0, isFirst)) continue
      held.add(chunk.subarray(start, line))
      parts.push(held.take())
      start = line
    }
    if (start < chunk.length) held.add(chunk.subarray(start))
    return parts
  }

  private goOn(beginsComment: boolean): void {
    if (!this.isInLine) this.isComment = beginsComment
    this.isInLine = true
    this.afterReturn = false
  }

  private endsPart(lineBreak: number, isFirst: boolean): boolean {
    const isPair = lineBreak === LINE_FEED && this.afterReturn
    this.afterReturn = lineBreak === CARRIAGE_RETURN
    if (isPair) return isFirst
    const ends = !this.isInLine || this.isComment
    this.isInLine = false
    return ends
  }
}
