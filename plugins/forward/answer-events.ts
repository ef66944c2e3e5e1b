import type { AnswerScanner } from './answer-scanner.js'
import { CARRIAGE_RETURN, LineBreaks } from './line-breaks.js'

const COLON = 0x3a
const SPACE = 0x20
const FIELD = Buffer.from('data')
const MARK = Buffer.from([0xef, 0xbb, 0xbf])

// Where a line is; below these: how many bytes of the field's name it has.
const AFTER_NAME = FIELD.length
const AFTER_COLON = AFTER_NAME + 1
const DATA = AFTER_NAME + 2
const OTHER = AFTER_NAME + 3

/** Finds the answers in an event stream (HTML, 9.2) as its bytes pass, in any parts, and holds none of them. */
export class AnswerEvents {
  private line = 0
  private afterReturn = false
  /** How many bytes of a byte order mark the stream has begun with. */
  private mark = 0

  constructor(private readonly answers: AnswerScanner) {}

  scan(chunk: Buffer): void {
    let start = this.withoutMark(chunk)
    const breaks = new LineBreaks(chunk)
    while (start < chunk.length) {
      const end = breaks.next(start)
      if (end > start) this.read(chunk, start, end)
      if (end < chunk.length) this.endLine(chunk[end] === CARRIAGE_RETURN)
      start = end + 1
    }
  }

  private withoutMark(chunk: Buffer): number {
    let at = 0
    while (this.mark < MARK.length && at < chunk.length) {
      if (chunk[at] === MARK[this.mark]) at++
      else this.mark = MARK.length
      this.mark++
    }
    return at
  }

  private read(chunk: Buffer, start: number, end: number): void {
    this.afterReturn = false
    let at = start
    while (at < end && this.line < DATA) {
      if (this.line === AFTER_COLON) {
        this.line = DATA
        if (chunk[at] === SPACE) at++
      } else {
        const isNamed = this.line < AFTER_NAME ? chunk[at] === FIELD[this.line] : chunk[at] === COLON
        this.line = isNamed ? this.line + 1 : OTHER
        at++
      }
    }
    if (this.line === DATA && at < end) this.answers.scan(chunk.subarray(at, end))
  }

  private endLine(isReturn: boolean): void {
    const isPair = this.afterReturn && !isReturn
    this.afterReturn = isReturn
    if (isPair) return
    // The break between two lines of data is left out: JSON may have one between its tokens alone.
    if (this.line === 0) this.answers.restart()
    this.line = 0
  }
}
