import type { Worker } from 'node:cluster'

// For what a worker said last, when its end is seen before that.
const LAST_WORDS = 200
// For somebody else to take a connection. Longer than that nobody has to wait for being told that there is nobody.
const PATIENCE = 5_000

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
 * for ever, and its caller waits; here the worker is taken to have declined, and another one gets it. This is done
 * with the messages of node:cluster itself: a Node that writes them otherwise is left to its own ways.
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
    child.on('internalMessage', (message: unknown) => this.answered(fieldOf(message, 'ack')))

    let disconnected = false
    // From here on nothing further is offered to it.
    worker.on('disconnect', () => {
      disconnected = true
      this.takeBack(worker)
    })
    // With an offer that was not answered, Node ends the channel without a word, and goes on offering.
    const ended = (): void => void (disconnected || child.emit('disconnect'))
    worker.on('exit', () => setTimeout(ended, LAST_WORDS))
  }

  private answered(number: unknown): void {
    if (number === undefined) return
    for (const [connection, offer] of this.offers) {
      if (offer.number === number) this.offers.delete(connection)
    }
  }

  private takeBack(worker: Worker): void {
    for (const [connection, offer] of this.offers) {
      if (offer.worker !== worker) continue
      const declined = { cmd: 'NODE_CLUSTER', ack: offer.number, accepted: false }
      this.offers.set(connection, { worker, number: undefined })
      worker.process.emit('internalMessage', declined)
      setTimeout(() => this.giveUp(connection, worker), PATIENCE).unref()
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
