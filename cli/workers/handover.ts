import type { Worker } from 'node:cluster'

// For the last messages of a worker, when its exit is seen before them.
const MESSAGE_GRACE = 200
// For another worker to accept a connection. After it the client is disconnected.
const HANDOVER_TIMEOUT = 5_000

/** A connection as node:cluster passes it on. */
interface Connection {
  close(): void
}

interface Offer {
  readonly worker: Worker
  readonly number: unknown
}

/**
 * A connection belongs to a worker once that has accepted it. When the worker dies before, Node keeps the connection
 * forever, and its client waits; here it counts as declined, so that another worker gets it. This uses the internal
 * messages of node:cluster: with a Node that writes them differently, nothing is handed over.
 */
export class Handover {
  private readonly offers = new Map<Connection, Offer>()

  watch(worker: Worker): void {
    const { process: child } = worker
    const send = child.send.bind(child) as (...message: unknown[]) => boolean
    Reflect.set(child, 'send', (message: unknown, connection?: Connection, ...rest: unknown[]) => {
      const isOffer = connection !== undefined && fieldOf(message, 'act') === 'newconn'
      if (isOffer) this.offers.set(connection, { worker, number: fieldOf(message, 'seq') })
      return send(message, connection, ...rest)
    })
    child.on('internalMessage', (message: unknown) => this.onReply(fieldOf(message, 'ack')))

    let disconnected = false
    // From here on nothing is offered to it.
    worker.on('disconnect', () => {
      disconnected = true
      this.decline(worker)
    })
    // With an unanswered offer, Node ends the channel without this event, and goes on offering.
    const ended = (): void => void (disconnected || child.emit('disconnect'))
    worker.on('exit', () => setTimeout(ended, MESSAGE_GRACE))
  }

  private onReply(number: unknown): void {
    if (number === undefined) return
    for (const [connection, offer] of this.offers) {
      if (offer.number === number) this.offers.delete(connection)
    }
  }

  private decline(worker: Worker): void {
    for (const [connection, offer] of this.offers) {
      if (offer.worker !== worker) continue
      const declined = { cmd: 'NODE_CLUSTER', ack: offer.number, accepted: false }
      this.offers.set(connection, { worker, number: undefined })
      worker.process.emit('internalMessage', declined)
      setTimeout(() => this.giveUp(connection, worker), HANDOVER_TIMEOUT).unref()
    }
  }

  private giveUp(connection: Connection, worker: Worker): void {
    if (this.offers.get(connection)?.worker !== worker) return
    this.offers.delete(connection)
    connection.close()
  }
}

const fieldOf = (message: unknown, name: string): unknown =>
  typeof message === 'object' && message !== null ? Reflect.get(message, name) : undefined
