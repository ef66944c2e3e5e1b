import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Lines on standard output, written many at once. `ended` aborts when nobody takes them. */
export class Output {
  private lines: string[] = []
  private readonly closed = new AbortController()
  readonly ended: AbortSignal = this.closed.signal

  constructor(private readonly stream: Writable) {
    stream.on('error', () => this.closed.abort())
  }

  print(line: string): void {
    this.lines.push(line, '\n')
  }

  readonly flush = async (): Promise<void> => {
    const text = this.lines.join('')
    this.lines = []
    if (text === '' || this.ended.aborted || this.stream.write(text)) return
    await once(this.stream, 'drain', { signal: this.ended }).catch(() => {})
  }
}
