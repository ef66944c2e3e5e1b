import type { Readable } from 'node:stream'
import { LineSplitter, TOO_LONG } from 'sallyport/toolkit'
import type { Conversation } from './conversation.js'
import { readMessage } from './messages.js'
import type { Stdout } from './stdout.js'

// MCP clients kill a server two seconds after they asked it to stop.
const STOP_LIMIT = 1_500

/** Reads messages from the input, line by line, and sends them on, until the input or the gateway ends. */
export class Bridge {
  private readonly stopping = new AbortController()

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
      await this.conversation.finish(this.limits.drain)
      await this.output.flushed()
    }
  }

  end(): void {
    this.stopping.abort(new Error('the gateway was asked to stop'))
    this.input.destroy()
    // `read` may be waiting for a response.
    void this.conversation.finish(STOP_LIMIT)
  }

  private async read(): Promise<void> {
    const lines = new LineSplitter(this.limits.most)
    for await (const chunk of this.input) {
      for (const line of lines.split(chunk)) await this.handleLine(line)
    }
    for (const line of lines.remainder()) await this.handleLine(line)
  }

  private async handleLine(line: Buffer | typeof TOO_LONG): Promise<void> {
    if (line === TOO_LONG) {
      const message = `Parse error: a message may have ${this.limits.most} bytes`
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

const isBlank = (line: Buffer): boolean => line.length < 64 && line.toString('latin1').trim() === ''
