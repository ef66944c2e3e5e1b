import type { Readable } from 'node:stream'
import type { Conversation } from './conversation.js'
import { Lines, TOO_LONG } from './lines.js'
import { readMessage } from './messages.js'
import type { Outlet } from './outlet.js'

// A client that stops a server kills it two seconds after it has asked.
const STOP_LIMIT = 1_500

/** Brings what stands on the input to the conversation, line by line, until the input or the gateway ends. */
export class Bridge {
  private readonly stopping = new AbortController()

  constructor(
    private readonly input: Readable,
    private readonly outlet: Outlet,
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
      await this.outlet.flushed()
    }
  }

  end(): void {
    this.stopping.abort(new Error('the gateway was asked to stop'))
    this.input.destroy()
    // Reading may be waiting for an answer right now.
    void this.conversation.finish(STOP_LIMIT)
  }

  private async read(): Promise<void> {
    const lines = new Lines(this.limits.most)
    for await (const chunk of this.input) {
      for (const line of lines.cut(chunk)) await this.take(line)
    }
    for (const line of lines.rest()) await this.take(line)
  }

  private async take(line: Buffer | typeof TOO_LONG): Promise<void> {
    if (line === TOO_LONG) {
      const message = `Parse error: a message may have ${this.limits.most} bytes`
      await this.outlet.error('null', { code: -32_700, message })
      return
    }
    if (isBlank(line)) return
    const message = readMessage(line)
    if ('code' in message)
      await this.outlet.error(message.id, { code: message.code, message: message.sentence })
    else await this.conversation.send(message)
  }
}

const isBlank = (line: Buffer): boolean => line.length < 64 && line.toString('latin1').trim() === ''
