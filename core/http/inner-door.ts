import { createServer, type Server } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import type { Handler } from './handler.js'

/** A way into a list without a port: the far end of each connection is read as one to the main port would be. */
export class InnerDoor {
  private readonly server: Server

  constructor(answer: Handler) {
    this.server = createServer({ requestTimeout: 0, headersTimeout: 0 }, answer)
    this.server.on('checkContinue', answer)
  }

  connect(): Duplex {
    const [near, far] = duplexPair()
    // Whoever connects is in this process, and so on this machine.
    Reflect.set(far, 'remoteAddress', '127.0.0.1')
    // A pair is two streams and no socket: that one side is gone has to be told to the other.
    near.on('close', () => far.destroy())
    far.on('close', () => {
      if (!far.writableFinished) near.destroy()
    })
    this.server.emit('connection', far)
    return near
  }
}
