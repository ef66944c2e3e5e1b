import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { eventually } from './captured-log.js'

/** The sockets that the servers of this process accept from here on, until the test ends. */
export class AcceptedSockets {
  // A closed socket forgets its port.
  private readonly ports = new Map<Socket, number | undefined>()

  constructor(t: TestContext) {
    const see = (message: unknown): void => {
      const { socket } = message as { socket: Socket }
      this.ports.set(socket, socket.localPort)
    }
    subscribe('net.server.socket', see)
    t.after(() => void unsubscribe('net.server.socket', see))
  }

  /** How many the server at this origin has accepted, and how many of those are still open. */
  at(origin: string): { readonly accepted: number; readonly open: number } {
    const own = this.socketsAt(origin)
    return { accepted: own.length, open: own.filter(({ destroyed }) => !destroyed).length }
  }

  socketsAt(origin: string): readonly Socket[] {
    const { port } = new URL(origin)
    return [...this.ports].filter(([, local]) => local === Number(port)).map(([socket]) => socket)
  }

  /** Resolves once the server at this origin has accepted as many, and none of them is open any more. */
  async allClosed(origin: string, count: number, seconds = 10): Promise<void> {
    await eventually(() => {
      const { accepted, open } = this.at(origin)
      return accepted === count && open === 0
    }, seconds)
  }
}
