import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../contract/errors.js'

/** Milliseconds for a body that the gateway itself reads: Fastify takes 1 MiB at most. */
export const BODY_DEADLINE = 30_000

/** Whether a body comes with the head, or is announced by it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0

export const bodyTooSlow = (): Refusal =>
  new Refusal(408, 'BODY_TOO_SLOW', 'the rest of the body did not come in time')

export const bodyTooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')

export const bodyIncomplete = (): Refusal =>
  new Refusal(400, 'BODY_INCOMPLETE', 'the body ended before its end')

/** A body that never ends would keep its route, and a stop, waiting. A handler that forwards has a limit of its own. */
export function limitBody(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  deadline: number,
  refuse: (refusal: Refusal) => void,
): void {
  if (raw.complete || raw.readableEnded || raw.destroyed || !hasBody(raw)) return
  // A request that never had a socket may end without either event.
  const timer = setTimeout(() => {
    if (reply.sent) return
    reply.header('connection', 'close')
    refuse(bodyTooSlow())
  }, deadline).unref()
  const stop = (): void => clearTimeout(timer)
  raw.once('end', stop).once('close', stop)
}
