import { z } from 'zod'
import { secretText } from './secret.js'

// These headers frame the message or belong to one connection: an option that sets them could smuggle requests.
const FORBIDDEN = new Set([
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
const FORBIDDEN_PREFIXES = ['x-forwarded-', 'proxy-']

const NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
// Gateways that trace requests add these to most of them.
const TRACE_CONTEXT = new Set(['traceparent', 'tracestate'])
// The characters that RFC 9110 (5.5) allows in a value, without white space at its ends.
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

/** An option that names a header which may be added to requests; the plugin gets it in lower case. */
export function headerName() {
  return z
    .string()
    .min(1)
    .superRefine((name, context) => {
      const fault = nameFault(name)
      if (fault !== undefined) context.addIssue({ code: 'custom', message: `"${name}" ${fault}` })
    })
    .transform((name) => name.toLowerCase())
}

/** An option that holds headers to send, whose values may be secrets; the plugin gets their names in lower case. */
export const secretHeaders = () =>
  z
    .record(
      headerName(),
      secretText().refine(isHeaderValue, 'expected a header value: printable, in one line'),
    )
    .prefault({})

function nameFault(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (!NAME.test(name)) return 'is not a header name'
  const forbidden = FORBIDDEN.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix))
  return forbidden ? 'may not be set: it belongs to the connection or frames the message' : undefined
}

/** Whether it is a pair of a name, in any case, and a value that may be added to requests. */
export const isAddableHeader = (header: unknown): header is readonly [name: string, value: string] =>
  Array.isArray(header) &&
  typeof header[0] === 'string' &&
  typeof header[1] === 'string' &&
  (TRACE_CONTEXT.has(header[0]) || nameFault(header[0]) === undefined) &&
  isHeaderValue(header[1])

/** Whether a text is a valid header value. It may be a secret: no message should quote it. */
export const isHeaderValue = (text: string): boolean => VALUE.test(text)
