import { type GatewayError, UpstreamError } from 'sallyport'
import { NETWORK_REASONS, TOO_SLOW } from '../network-reasons.js'

/** Seconds after which a caller may try again. */
const RETRY_AFTER = 5

/** Redis is unusable now; `reason` is a clause whose subject is Redis. */
export const unavailable = (reason: string): UpstreamError =>
  new UpstreamError('REDIS_UNAVAILABLE', `Redis cannot be used: ${reason}`, {
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

export const CLOSED = 'the connection was closed'

// Reasons by the first word of the server's error reply.
const REPLIES: ReadonlyMap<string, string> = new Map([
  ['WRONGPASS', 'it refused the user or the password'],
  ['NOAUTH', 'it demands a password, and the URL has none'],
  ['NOPERM', 'the user may not use a command that is needed, or not these keys'],
  ['LOADING', 'it is still reading its data'],
  ['BUSY', 'it is busy with a script'],
  ['MASTERDOWN', 'it is a replica without its primary'],
  ['READONLY', 'it is a replica, which cannot be written'],
  ['MISCONF', 'it cannot save to its disk, and refuses writes'],
  ['OOM', 'its memory is full (maxmemory)'],
  ['NOREPLICAS', 'it has too few replicas to take a write'],
  ['MOVED', 'it is a cluster, which is not supported'],
  ['CLUSTERDOWN', 'it is a cluster, which is not supported'],
])

// The server refuses a write with these, and may go on answering reads.
const WRITE_REFUSALS = new Set(['READONLY', 'MISCONF', 'OOM', 'NOREPLICAS', 'NOPERM'])

// These conditions pass by themselves, on this connection or the next.
const PASSING = new Set(['LOADING', 'BUSY', 'MASTERDOWN', 'READONLY', 'NOREPLICAS'])

const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|CERT_)/
const NO_TLS = /^(?:EPROTO|ERR_SSL_)/

/** The first word of an error reply of the server. */
export const replyCode = (error: unknown): string | undefined =>
  error instanceof Error && error.name === 'ReplyError' ? (error.message.split(' ', 1)[0] ?? '') : undefined

/** Whether the reply refuses a write that this server may accept later. */
export const isWriteRefusal = (error: unknown): boolean => WRITE_REFUSALS.has(replyCode(error) ?? '')

/** Whether the reply says only that another attempt may succeed. */
export const isPassing = (error: unknown): boolean => PASSING.has(replyCode(error) ?? '')

/**
 * Why a command or a connection failed, as a clause whose subject is Redis. The driver's error itself never leaves this
 * folder: it holds the command with its arguments, and so values and passwords.
 */
export function reasonOf(error: unknown): string {
  const reply = replyCode(error)
  if (reply !== undefined)
    return REPLIES.get(reply) ?? `it replied with the error ${/^[A-Z]+$/.exec(reply)?.[0] ?? 'ERR'}`
  const root = error instanceof AggregateError ? error.errors[0] : error
  const code = root instanceof Error && 'code' in root ? String(root.code) : ''
  const known = NETWORK_REASONS[code]
  if (known !== undefined) return known
  if (UNTRUSTED.test(code))
    return 'its certificate comes from an authority that is not trusted here (caCertPath)'
  if (NO_TLS.test(code))
    return 'no TLS session could be agreed on; it may not speak TLS (redis:// and rediss://)'
  if (root instanceof Error && /tim(?:ed? ?out)/i.test(root.message)) return TOO_SLOW
  return CLOSED
}

export const refused = (error: unknown): GatewayError => unavailable(reasonOf(error))
