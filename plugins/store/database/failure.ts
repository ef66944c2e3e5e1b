import { ConfigError, GatewayError, UpstreamError } from 'sallyport'
import { NETWORK_REASONS, TOO_SLOW } from '../network-reasons.js'

/** Seconds after which a caller may try again. */
const RETRY_AFTER = 5

/** The database is unusable now; `reason` is a clause whose subject is the database. */
export const unavailable = (reason: string): UpstreamError =>
  new UpstreamError('DATABASE_UNAVAILABLE', `the database cannot be used: ${reason}`, {
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

export const tooSlow = (): UpstreamError => unavailable(TOO_SLOW)

/** The database answers, but stores nothing. */
export const refusesWrites = (reason = READ_ONLY): UpstreamError =>
  new UpstreamError('DATABASE_REFUSES_WRITES', `the database stores nothing: ${reason}`, {
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

/** The lock was lost, so another process may have it. */
export const lockLost = (): UpstreamError =>
  new UpstreamError('DATABASE_LOCK_LOST', 'the connection that held a lock in the database has ended', {
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

const READ_ONLY = 'it can only be read, as a standby, or with default_transaction_read_only'
const WRITES_REFUSED: Readonly<Record<string, string>> = { '25006': READ_ONLY, '53100': 'its disk is full' }

// Reasons by SQLSTATE, or the beginning of one; the longest match counts.
const STATES: Readonly<Record<string, string>> = {
  '08': 'the connection failed',
  '28': 'it refused the user or the password',
  '3D000': 'the server has no database of that name',
  '53': 'it has no resources left',
  '53300': 'it has too many connections',
  '55P03': 'a lock was not free in time',
  '57': 'it is stopping or starting',
  '57014': TOO_SLOW,
  '58': 'its disk failed',
}

const NETWORK: Readonly<Record<string, string>> = {
  ...NETWORK_REASONS,
  ENOENT: 'nothing listens on that socket',
}

const UNTRUSTED = /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_)/
// The driver has no codes for these.
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/does not support SSL/, 'it does not speak TLS, which `caCertPath` or `sslmode` asks for'],
  [/timeout/i, TOO_SLOW],
]

/**
 * Converts an error of the driver. Leaves out its message and cause: they quote values of statements, and parts of the
 * URL.
 */
export function databaseFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : ''
  if (!/^[0-9A-Z]{5}$/.test(code)) return unavailable(networkReason(code, message))
  if (WRITES_REFUSED[code] !== undefined) return refusesWrites(WRITES_REFUSED[code])
  const reason = STATES[code] ?? STATES[code.slice(0, 2)]
  if (reason !== undefined) return unavailable(reason)
  if (['42P01', '3F000', '42703'].includes(code)) return notMigrated()
  if (code === '42501') return lacksRights()
  // 23: a row exists already; 40: two transactions at once. A retry may succeed.
  if (/^(?:23|40)/.test(code))
    return new GatewayError('DATABASE_CONFLICT', `the database found a conflict (SQLSTATE ${code})`)
  return new GatewayError('DATABASE_FAILED', `the database refused a statement (SQLSTATE ${code})`)
}

export const lacksRights = (): GatewayError =>
  new GatewayError('DATABASE_RIGHTS', 'the user of the database lacks rights')

export const notMigrated = (): UpstreamError =>
  new UpstreamError(
    'DATABASE_NOT_MIGRATED',
    `the database lacks tables of this version: run \`sallyport migrate --config FILE\``,
    {
      statusCode: 503,
      retryAfter: RETRY_AFTER,
    },
  )

export const refused = (place: string, message: string): ConfigError => new ConfigError([{ place, message }])

function networkReason(code: string, message: string): string {
  const known = NETWORK[code] ?? MESSAGES.find(([pattern]) => pattern.test(message))?.[1]
  if (known !== undefined) return known
  if (UNTRUSTED.test(code))
    return 'its certificate is not trusted; caCertPath may be missing or name another authority'
  return 'the connection was lost'
}
