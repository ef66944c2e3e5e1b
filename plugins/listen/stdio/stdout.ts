import type { Writable } from 'node:stream'

const LINE_END = Buffer.from('\n')

/** Writes messages to standard output, one line each. Nothing else writes there. */
export class Stdout {
  private waiting: (() => void)[] = []
  private abandoned = false

  constructor(
    private readonly stream: Writable,
    onError: () => void,
  ) {
    // The client has closed the pipe.
    stream.on('error', onError)
    for (const event of ['drain', 'close', 'error']) stream.on(event, () => this.release())
  }

  /** Resolves when more may be written: a client that reads slowly slows down the target. */
  async writeMessage(message: Buffer): Promise<void> {
    const { stream } = this
    if (this.abandoned || stream.destroyed || stream.writableEnded) return
    stream.cork()
    stream.write(onOneLine(message))
    const more = stream.write(LINE_END)
    stream.uncork()
    if (!more && stream.writableNeedDrain) await this.untilItGoesOn()
  }

  writeError(id: string, error: object): Promise<void> {
    return this.writeMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`))
  }

  /** Resolves when everything was written, or the client has closed the pipe. */
  async flushed(): Promise<void> {
    const { stream } = this
    if (this.abandoned || stream.destroyed || stream.writableLength === 0) return
    stream.write('', () => this.release())
    await this.untilItGoesOn()
  }

  /** Stops waiting for the client to read. */
  abandon(): void {
    this.abandoned = true
    this.release()
  }

  private untilItGoesOn(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  private release(): void {
    for (const resolve of this.waiting.splice(0)) resolve()
  }
}

/** Replaces line ends by spaces: in valid JSON they occur only as white space between tokens. */
function onOneLine(message: Buffer): Buffer {
  if (!message.includes(0x0a) && !message.includes(0x0d)) return message
  return Buffer.from(message.toString('latin1').replaceAll(/[\r\n]/g, ' '), 'latin1')
}
