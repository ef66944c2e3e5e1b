import { ConfigError, UpstreamError } from 'sallyport'
import { DatabaseError } from './database.js'

const RETRY_AFTER = 5

export const notStored = (reason: string, cause?: unknown): UpstreamError =>
  new UpstreamError('STORE_UNWRITABLE', `the publication was not stored: ${reason}`, {
    cause,
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

export const inUse = (path: string, holder: string): ConfigError =>
  new ConfigError([
    {
      place: path,
      message: `${holder || 'another process'} publishes here already: end it, give this one another directory, or use \`store/postgres\`, which several share`,
    },
  ])

/** A supervisor tries again after a full disk, and not after a wrong configuration. */
export function notOpened(path: string, error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  const { kind, reason } = error.failure
  if (kind === 'disk') return new Error(`${path}: ${reason}`, { cause: error })
  const message = `what is published cannot be used: ${reason}`
  return new ConfigError([{ place: path, message }], { cause: error })
}
