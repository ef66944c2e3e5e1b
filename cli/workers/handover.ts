import type { Worker } from 'node:cluster'

// For what a worker said last, when its end is seen before that.
const LAST_WORDS = 200

/**
 * A connection belongs to a worker once that has accepted it. When the worker dies before, Node keeps the connection
 * for ever, and its caller waits; here the worker is taken to have declined, and another one gets it. This is done
 * with the messages of node:cluster itself: a Node that writes them otherwise is left to its own ways.
 */
export function passOn(worker: Worker): void {
  const { process: child } = worker
  const offered = new Set<unknown>()
  const send = child.send.bind(child) as (...message: unknown[]) => boolean
  Reflect.set(child, 'send', (message: unknown, ...rest: unknown[]) => {
    if (fieldOf(message, 'act') === 'newconn') offered.add(fieldOf(message, 'seq'))
    return send(message, ...rest)
  })
  child.on('internalMessage', (message: unknown) => void offered.delete(fieldOf(message, 'ack')))

  let disconnected = false
  // From here on no further connection is offered to it.
  worker.on('disconnect', () => {
    disconnected = true
    for (const ack of offered) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
  })
  // With an offer that was not answered, Node ends the channel without a word, and goes on offering.
  const ended = (): void => void (disconnected || child.emit('disconnect'))
  worker.on('exit', () => setTimeout(ended, LAST_WORDS))
}

const fieldOf = (message: unknown, name: string): unknown =>
  typeof message === 'object' && message !== null ? Reflect.get(message, name) : undefined
