import type { FastifyRequest } from 'fastify'
import { Refusal } from '../contract/errors.js'
import { timesSent } from '../http/raw-headers.js'

// A name or an address, and a port (RFC 9110, 7.2): servers may read anything else in different ways.
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i
const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/** Refuses a request whose host could be read in more than one way by servers behind the gateway. */
export function checkHost({ raw: { rawHeaders, headers }, originalUrl: url }: FastifyRequest): void {
  // RFC 9112, 3.2: Node keeps the first Host, and a server that reads the last would take the request for another
  // host's.
  if (timesSent(rawHeaders, 'host') > 1)
    throw new Refusal(400, 'HOST_REPEATED', 'a request must have one Host header')
  const { host } = headers
  const isAbsolute = !url.startsWith('/') && ABSOLUTE.test(url)
  const isWrong = (name: string | undefined): boolean => name !== undefined && !AUTHORITY.test(name)
  if (isWrong(host) || (isAbsolute && isWrong(ABSOLUTE.exec(url)?.[1])))
    throw new Refusal(400, 'HOST_INVALID', 'the host must be a name or an address, with or without a port')
}
