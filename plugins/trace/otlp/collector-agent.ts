import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import type { WatchedFile } from 'sallyport/toolkit'

/** Keeps connections to the collector. It trusts `certificates` in place of Node's, as the file is at the time. */
export function collectorAgent(url: string, certificates?: WatchedFile): HttpAgent {
  const keepAlive = true
  if (new URL(url).protocol !== 'https:') return new HttpAgent({ keepAlive })
  return certificates === undefined ? new HttpsAgent({ keepAlive }) : new WatchingAgent(certificates)
}

/** The exporter asks for an agent once, and an agent for its certificates: so each connection gets those of the file. */
class WatchingAgent extends HttpsAgent {
  private trusted = new WeakSet<Duplex>()

  constructor(private readonly certificates: WatchedFile) {
    // A session that is resumed is trusted as it was when it began.
    super({ keepAlive: true, maxCachedSessions: 0 })
    certificates.onChange(() => this.retire())
  }

  override createConnection(options: RequestOptions, callback?: (error: Error | null, made: Duplex) => void) {
    const connection = super.createConnection({ ...options, ca: this.certificates.text }, callback)
    if (connection) this.trusted.add(connection)
    return connection
  }

  override keepSocketAlive(socket: Duplex) {
    return this.trusted.has(socket) && super.keepSocketAlive(socket)
  }

  /** What is being sent goes on, and is the last on its connection. */
  private retire(): void {
    this.trusted = new WeakSet()
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
  }
}
