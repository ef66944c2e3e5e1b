import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { eventually } from './captured-log.js'

/** The sockets that the servers of this process accept from here on, until the test ends. */
export class AcceptedSockets {
  // Read at once: a closed socket has no port any more.
  private readonly ports = new Map<Socket, number | undefined>()

  constructor(t: TestContext) {
    const record = (message: unknown): void => {
      const { socket } = message as { socket: Socket }
      this.ports.set(socket, socket.localPort)
    }
    subscribe('net.server.socket', record)
    t.after(() => void unsubscribe('net.server.socket', record))
  }

  /** How many sockets the server at this origin has accepted, and how many of them are still open. */
  at(origin: string): { readonly accepted: number; readonly open: number } {
    const sockets = this.socketsAt(origin)
    return { accepted: sockets.length, open: sockets.filter(({ destroyed }) => !destroyed).length }
  }

  socketsAt(origin: string): readonly Socket[] {
    const { port } = new URL(origin)
    return [...this.ports].filter(([, local]) => local === Number(port)).map(([socket]) => socket)
  }

  /** Resolves once the server at this origin has accepted `count` sockets and all of them are closed. */
  async allClosed(origin: string, count: number, seconds = 10): Promise<void> {
    await eventually(() => {
      const { accepted, open } = this.at(origin)
      return accepted === count && open === 0
    }, seconds)
  }
}
