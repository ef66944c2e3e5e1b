import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { lastsWhileListened } from 'sallyport'
import { answerHeaders } from './headers.js'
import type { Head } from './lane.js'

/** Tells the caller that the target has changed protocols, and from then on hands bytes through. */
export function joinSockets(
  reply: FastifyReply,
  { reason, headers }: Head,
  target: Duplex,
  early: Buffer,
): void {
  reply.hijack()
  lastsWhileListened(reply.raw)
  const caller = reply.request.raw.socket
  const lines = [`HTTP/1.1 101 ${reason}`, 'Connection: Upgrade', 'Upgrade: websocket']
  const passed = answerHeaders(headers)
  for (let index = 0; index < passed.length; index += 2) lines.push(`${passed[index]}: ${passed[index + 1]}`)
  caller.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (early.length > 0) target.unshift(early)

  const part = (): void => {
    caller.destroy()
    target.destroy()
  }
  for (const end of [caller, target]) end.on('error', part).on('close', part)
  caller.pipe(target)
  target.pipe(caller)
}
