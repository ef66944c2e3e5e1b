import type { IncomingMessage } from 'node:http'

/** Whether something of a body is still to be read, on a connection that stays: a request of the gateway itself has none. */
export const mayContinue = ({ complete, readableLength, socket }: IncomingMessage): boolean =>
  (!complete || readableLength > 0) && socket.writable

/** Limits the time for the rest of a body, after its answer. Node has forgotten the request by then: it emits no `close`. */
export function limitRemaining(message: IncomingMessage, milliseconds: number): void {
  const { socket } = message
  const timer = setTimeout(() => socket.destroy(), milliseconds)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  message.once('end', stop)
  socket.once('close', stop)
}
