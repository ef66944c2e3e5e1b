import type { Readable } from 'node:stream'
import { LineSplitter, TOO_LONG } from 'sallyport/toolkit'
import type { Conversation } from './conversation.js'
import { readMessage } from './messages.js'
import type { Stdout } from './stdout.js'

// Milliseconds. MCP clients kill a server two seconds after they asked it to stop; ending the session takes up to one.
const STOP_LIMIT = 700

/** Reads messages from the input, line by line, and sends them to the target, until the input or the gateway ends. */
export class Bridge {
  private readonly stopping = new AbortController()
  private late: NodeJS.Timeout | undefined

  constructor(
    private readonly input: Readable,
    private readonly output: Stdout,
    private readonly conversation: Conversation,
    private readonly limits: { readonly most: number; readonly drain: number },
  ) {}

  async run(): Promise<void> {
    try {
      await this.read()
    } catch (error) {
      if (!this.stopping.signal.aborted) throw error
    } finally {
      clearTimeout(this.late)
      await this.conversation.finish(this.limits.drain)
      await this.output.flushed()
    }
  }

  end(): void {
    this.stopping.abort(new Error('the gateway was asked to stop'))
    this.input.destroy()
    // `read` may be waiting for a response.
    void this.conversation.finish(STOP_LIMIT)
    // A client that has stopped reading would keep the process alive for ever.
    setTimeout(() => this.output.abandon(), STOP_LIMIT).unref()
  }

  private async read(): Promise<void> {
    const lines = new LineSplitter(this.limits.most)
    const chunks: AsyncIterator<Buffer> = this.input[Symbol.asyncIterator]()
    try {
      for (let chunk = await chunks.next(); chunk.done !== true; ) {
        // Requested now, to notice the end of the input while a message waits for its response.
        const next = chunks.next()
        next.then(({ done }) => done === true && this.finishLater(), ignore)
        for (const line of lines.split(chunk.value)) await this.handleLine(line)
        chunk = await next
      }
    } finally {
      this.input.destroy()
    }
    for (const line of lines.remainder()) await this.handleLine(line)
  }

  private finishLater(): void {
    this.late = setTimeout(() => void this.conversation.finish(0), this.limits.drain)
  }

  private async handleLine(line: Buffer | typeof TOO_LONG): Promise<void> {
    if (line === TOO_LONG) {
      const message = `Parse error: a message may have ${this.limits.most} bytes at most`
      await this.output.writeError('null', { code: -32_700, message })
      return
    }
    if (isBlank(line)) return
    const message = readMessage(line)
    if ('code' in message)
      await this.output.writeError(message.id, { code: message.code, message: message.message })
    else await this.conversation.send(message)
  }
}

const ignore = (): void => {}

const isBlank = (line: Buffer): boolean => line.length < 64 && line.toString('latin1').trim() === ''
