import { createServer, type Server } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { CountedResponse } from './counted-response.js'
import type { Handler } from './handler.js'

/** Connections to a list without a port: each is served as a connection to the main port would be. */
export class InProcessConnections {
  private readonly server: Server

  constructor(handler: Handler) {
    this.server = createServer(
      { ServerResponse: CountedResponse, requestTimeout: 0, headersTimeout: 0 },
      handler,
    )
    this.server.on('checkContinue', handler)
  }

  connect(): Duplex {
    const [clientSide, serverSide] = duplexPair()
    // The client is in this process, and so on this machine.
    Reflect.set(serverSide, 'remoteAddress', '127.0.0.1')
    // A pair is two streams and no socket: destroying one side does not close the other.
    clientSide.on('close', () => serverSide.destroy())
    serverSide.on('close', () => {
      if (!serverSide.writableFinished) clientSide.destroy()
    })
    this.server.emit('connection', serverSide)
    return clientSide
  }
}
