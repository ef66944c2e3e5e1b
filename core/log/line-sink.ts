import { writeSync } from 'node:fs'

/** The most bytes that wait for a slow reader. */
const MAX_WAITING = 1024 * 1024
/** Milliseconds until the next try: a slow reader reads soon, a full disk stays full for a while. */
const BUSY_RETRY = 50
const BROKEN_RETRY = 1_000
const FLUSH_RETRY = 10
/** Up to so many lines in so many milliseconds are written at once, each by itself. */
const [BURST_LINES, BURST_MS] = [32, 100] as const
/** Milliseconds that further lines wait for each other: each write wakes a reader, which costs more than a line. */
const BATCH_DELAY = 10
/** The most bytes that a pipe takes as a whole: in larger writes, lines of several processes would mix. */
const MAX_WRITE = 4_096

/**
 * Writes lines to a non-blocking descriptor, in order, and never throws. Lines that cannot be written at once wait,
 * up to a limit. Beyond the limit, and while writing fails, the sink drops and counts lines, and writes a notice
 * when it works again. By hand: pino's own destination blocks in `write`, or needs a thread that keeps the process
 * from ending; and when a write fails, it throws into the code that logs, or keeps every later line.
 */
export class LineSink {
  private readonly waiting: Buffer[] = []
  private bytes = 0
  /** A part of the first waiting line is written already, so the rest of that line must come next. */
  private partlyWritten = false
  private busy = false
  private burstBegan = 0
  private linesInBurst = 0
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
    // While the reader is slow, a try for each line would be wasted.
    const waits = this.busy ? this.waiting.length > 1 : this.isInBurst() && this.bytes < MAX_WRITE
    if (waits) this.flushAfter(BATCH_DELAY)
    else this.flush()
  }

  /** Blocks the process until all lines are written, at most `limit` milliseconds. */
  flushSync(limit: number): void {
    const end = performance.now() + limit
    const never = new Int32Array(new SharedArrayBuffer(4))
    while (!this.flush() && this.busy && performance.now() < end) Atomics.wait(never, 0, 0, FLUSH_RETRY)
  }

  /** Writes the lines that can be written now, and returns whether these are all. */
  private flush(): boolean {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.writeWaiting() && this.writeNotice()) return true
    this.tryLater()
    return false
  }

  /** Counts a line, and returns whether it is one of many that came lately. */
  private isInBurst(): boolean {
    const now = performance.now()
    if (now - this.burstBegan > BURST_MS) {
      this.burstBegan = now
      this.linesInBurst = 0
    }
    return ++this.linesInBurst > BURST_LINES
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

  /** The first lines that fit into one write, at least one. */
  private next(): Buffer {
    const lines: Buffer[] = []
    let size = 0
    for (const line of this.waiting) {
      size += line.length
      if (size > MAX_WRITE && lines.length > 0) break
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

  /** Writes how many lines are missing at this point. */
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
    const lines = this.waiting.splice(this.partlyWritten ? 1 : 0)
    this.bytes = this.waiting[0]?.length ?? 0
    this.drop(lines.length)
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
