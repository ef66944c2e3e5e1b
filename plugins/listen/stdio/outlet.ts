import { once } from 'node:events'
import type { Writable } from 'node:stream'

const LINE_END = Buffer.from('\n')

/** Where messages leave, a line each. Nothing else is ever written there. */
export class Outlet {
  constructor(
    private readonly stream: Writable,
    gone: () => void,
  ) {
    // The client went away. Its input ends too, which is what ends the conversation.
    stream.on('error', gone)
  }

  /** Returns when more may be written: a client that reads slowly holds up what comes from the target. */
  async line(message: Buffer): Promise<void> {
    const { stream } = this
    if (stream.destroyed || stream.writableEnded) return
    stream.cork()
    stream.write(onOneLine(message))
    const more = stream.write(LINE_END)
    stream.uncork()
    if (!more && stream.writableNeedDrain) await Promise.race([once(stream, 'drain'), closed(stream)])
  }

  error(id: string, error: object): Promise<void> {
    return this.line(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`))
  }

  /** Everything written has left, or nobody takes it any more. */
  async flushed(): Promise<void> {
    const { stream } = this
    if (stream.destroyed || stream.writableLength === 0) return
    await Promise.race([new Promise<void>((done) => stream.write('', () => done())), closed(stream)])
  }
}

const closed = (stream: Writable): Promise<unknown> => once(stream, 'close').catch(() => {})

/** Between two tokens JSON takes a line end for a space, and inside a string there is none. */
function onOneLine(message: Buffer): Buffer {
  if (!message.includes(0x0a) && !message.includes(0x0d)) return message
  return Buffer.from(message.toString('latin1').replaceAll(/[\r\n]/g, ' '), 'latin1')
}
