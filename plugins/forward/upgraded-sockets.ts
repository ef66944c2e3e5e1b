import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { excludeFromDrain, responseHeaders, takeSocket } from 'sallyport/toolkit'
import type { ResponseHead } from './transport.js'

// Milliseconds that one side may still send after the other has ended.
const HALF_OPEN_TIMEOUT = 10_000

/**
 * Sends the caller the 101 of the target, and pipes both sockets into each other. When one side ends, the other may
 * finish within a time limit; when one fails, both are destroyed.
 */
export function joinSockets(
  reply: FastifyReply,
  { reason, headers }: ResponseHead,
  target: Duplex,
  early: Buffer,
  omitted: ReadonlySet<string> | undefined,
): void {
  reply.hijack()
  excludeFromDrain(reply.raw)
  const caller = takeSocket(reply.request.raw)
  // The 101 is written to the socket, but observers read the status of the response.
  reply.raw.statusCode = 101
  if (!caller.writable) {
    target.destroy()
    return
  }
  const lines = [`HTTP/1.1 101 ${reason}`, 'Connection: Upgrade', 'Upgrade: websocket']
  const passed = responseHeaders(headers, omitted)
  for (let index = 0; index < passed.length; index += 2) lines.push(`${passed[index]}: ${passed[index + 1]}`)
  caller.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (early.length > 0) target.unshift(early)
  // By default the socket ends when the target ends, and what the caller still sends would be lost.
  target.allowHalfOpen = true
  closeTogether(caller, target)
  caller.pipe(target)
  target.pipe(caller)
}

function closeTogether(caller: Duplex, target: Duplex): void {
  let timer: NodeJS.Timeout | undefined
  const destroyBoth = (): void => {
    caller.destroy()
    target.destroy()
  }
  const startTimer = (): void => {
    timer ??= setTimeout(destroyBoth, HALF_OPEN_TIMEOUT)
  }
  const closed = (other: Duplex): void => {
    if (caller.destroyed && target.destroyed) clearTimeout(timer)
    // After `end`, buffered bytes are still being sent, within the time limit.
    else if (!other.writableEnded) other.destroy()
  }
  caller
    .on('error', destroyBoth)
    .on('end', startTimer)
    .on('close', () => closed(target))
  target
    .on('error', destroyBoth)
    .on('end', startTimer)
    .on('close', () => closed(caller))
}
