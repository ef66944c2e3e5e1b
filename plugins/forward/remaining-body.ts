import type { IncomingMessage } from 'node:http'

/** Whether something of a body is still to be read: not of one that has come whole, nor on a connection that is being closed. */
export const mayContinue = ({ complete, readableLength, destroyed, socket }: IncomingMessage): boolean =>
  (!complete || readableLength > 0) && !destroyed && !socket.writableEnded

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
