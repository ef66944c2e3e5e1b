import type { FastifyReply } from 'fastify'

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * With the headers of a page. One with a sign-out form says its own origin to this gateway and nothing to others: with
 * `no-referrer` a browser sends `Origin: null` with the form.
 */
export function withPageHeaders(reply: FastifyReply, hasSessions: boolean): FastifyReply {
  const vary = reply.getHeader('vary')
  const own = ['Authorization', 'Accept', ...(hasSessions ? ['Cookie'] : [])]
  return reply
    .header('content-security-policy', POLICY)
    .header('referrer-policy', hasSessions ? 'same-origin' : 'no-referrer')
    .header('vary', [...(vary === undefined ? [] : [String(vary)]), ...own].join(', '))
    .type('text/html; charset=utf-8')
}
