import type { FastifyRequest } from 'fastify'
import { Refusal } from '../contract/errors.js'
import { timesSent } from '../http/raw-headers.js'

// A name or an address, and a port (RFC 9110, 7.2): nothing else has one reading only.
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Refuses a request whose host could be read in more than one way, whoever may be behind the gateway. */
export function checkHost({ raw: { rawHeaders, headers }, originalUrl: url }: FastifyRequest): void {
  // RFC 9112, 3.2: Node keeps the first, and what reads the last would take it for another host.
  if (timesSent(rawHeaders, 'host') > 1) throw new Refusal(400, 'HOST_REPEATED', 'a request has one Host')
  const { host } = headers
  const isAbsolute = !url.startsWith('/') && ABSOLUTE.test(url)
  const isWrong = (name: string | undefined): boolean => name !== undefined && !AUTHORITY.test(name)
  if (isWrong(host) || (isAbsolute && isWrong(ABSOLUTE.exec(url)?.[1])))
    throw new Refusal(400, 'HOST_INVALID', 'a host is a name or an address, with a port or without one')
}
