import { writeSync } from 'node:fs'

/** The most bytes that wait for a slow reader. */
const MAX_WAITING = 1024 * 1024
/** Milliseconds until the next try: a slow reader reads soon, a full disk stays full for a while. */
const BUSY_RETRY = 50
const BROKEN_RETRY = 1_000
const FLUSH_RETRY = 10
/** Of so many lines in so many milliseconds each is written at once. */
const [FEW, SPAN] = [32, 100] as const
/** Milliseconds that more of them wait for each other: each write wakes a reader, which costs more than a line. */
const TOGETHER = 10
/** A pipe takes so many bytes as a whole, or lines of several processes would mix. */
const MAX_AT_ONCE = 4_096

/**
 * Writes lines to a non-blocking descriptor, in order, and never throws. What cannot be written at once waits, up to a
 * limit; beyond it, and while writing fails, lines are dropped and counted, and a notice says so when it works again.
 * By hand: pino's own destination blocks in `write`, or needs a thread that keeps the process from ending; and when a
 * write fails, it throws into the code that logs, or keeps every later line.
 */
export class LineSink {
  private readonly waiting: Buffer[] = []
  private bytes = 0
  /** A part of the first waiting line is written already, so its rest must come next. */
  private partlyWritten = false
  private busy = false
  private spanBegan = 0
  private inSpan = 0
  private dropped = 0
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly descriptor: number,
    private readonly notice: (dropped: number) => string,
    private readonly count: (dropped: number) => void,
  ) {}

  write(text: string): void {
    const line = Buffer.from(text)
    if (this.dropped > 0 && !this.busy) this.flush()
    const full = this.bytes > 0 && this.bytes + line.length > MAX_WAITING
    if (this.dropped > 0 || full) {
      this.drop(1)
      this.tryLater()
      return
    }
    this.waiting.push(line)
    this.bytes += line.length
    // With a slow reader a try for each line would be wasted.
    const waits = this.busy ? this.waiting.length > 1 : this.isOneOfMany() && this.bytes < MAX_AT_ONCE
    if (waits) this.flushAfter(TOGETHER)
    else this.flush()
  }

  /** Blocks the process until all is written, at most `limit` milliseconds. */
  flushSync(limit: number): void {
    const end = performance.now() + limit
    const never = new Int32Array(new SharedArrayBuffer(4))
    while (!this.flush() && this.busy && performance.now() < end) Atomics.wait(never, 0, 0, FLUSH_RETRY)
  }

  /** Writes what can be written now, and returns whether that is all. */
  private flush(): boolean {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.writeWaiting() && this.writeNotice()) return true
    this.tryLater()
    return false
  }

  /** Counts a line. Whether many have come lately, with this one. */
  private isOneOfMany(): boolean {
    const now = performance.now()
    if (now - this.spanBegan > SPAN) {
      this.spanBegan = now
      this.inSpan = 0
    }
    return ++this.inSpan > FEW
  }

  private writeWaiting(): boolean {
    while (this.waiting.length > 0) {
      const written = this.tryWrite(this.next())
      if (written > 0) this.remove(written)
      else {
        if (!this.busy) this.dropWaiting()
        return false
      }
    }
    return true
  }

  /** The first lines, and one at least. */
  private next(): Buffer {
    const lines: Buffer[] = []
    let size = 0
    for (const line of this.waiting) {
      size += line.length
      if (size > MAX_AT_ONCE && lines.length > 0) break
      lines.push(line)
    }
    return Buffer.concat(lines)
  }

  private remove(written: number): void {
    this.bytes -= written
    this.partlyWritten = false
    for (let left = written; left > 0; ) {
      const line = this.waiting.shift()
      if (line === undefined) return
      this.partlyWritten = line.length > left
      if (this.partlyWritten) this.waiting.unshift(line.subarray(left))
      left -= line.length
    }
  }

  /** Writes how many lines are missing at this place. */
  private writeNotice(): boolean {
    if (this.dropped === 0) return true
    const line = Buffer.from(this.notice(this.dropped))
    const written = this.tryWrite(line)
    if (written === 0) return false
    this.dropped = 0
    if (written === line.length) return true
    this.waiting.push(line.subarray(written))
    this.bytes = line.length - written
    this.partlyWritten = true
    return false
  }

  /** Returns how many of the bytes were written. */
  private tryWrite(bytes: Buffer): number {
    try {
      const written = writeSync(this.descriptor, bytes)
      this.busy = written === 0
      return written
    } catch (error) {
      this.busy = (error as NodeJS.ErrnoException).code === 'EAGAIN'
      return 0
    }
  }

  private dropWaiting(): void {
    const gone = this.waiting.splice(this.partlyWritten ? 1 : 0)
    this.bytes = this.waiting[0]?.length ?? 0
    this.drop(gone.length)
  }

  private drop(count: number): void {
    this.dropped += count
    if (count > 0) this.count(count)
  }

  private tryLater(): void {
    this.flushAfter(this.busy ? BUSY_RETRY : BROKEN_RETRY)
  }

  private flushAfter(milliseconds: number): void {
    this.timer ??= setTimeout(() => this.flush(), milliseconds).unref()
  }
}
