import type { Problem } from './problem.js'
import { problemLine } from './problem.js'

interface Reason {
  readonly cause?: unknown
}

/**
 * The base of every error that the gateway throws on purpose. `code` is for machines and reaches the caller in
 * lower case; `message` says what failed and where, and holds no token, secret or inner address.
 */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError'
  readonly statusCode: number = 500

  constructor(
    readonly code: string,
    message: string,
    reason?: Reason,
  ) {
    super(message, reason)
  }
}

/** The configuration is wrong. It stops the boot and lists every problem found, not only the first. */
export class ConfigError extends GatewayError {
  override readonly name = 'ConfigError'

  constructor(
    readonly problems: readonly Problem[],
    reason?: Reason,
  ) {
    super('CONFIG_INVALID', problems.map(problemLine).join('\n'), reason)
  }
}

/** Why an authenticator did not accept a request; for the log, never for the caller. */
export interface RefusalReason {
  readonly provider: string
  readonly cause: string
  readonly detail?: string
}

export interface RefusalDetail extends Reason {
  readonly reasons?: readonly RefusalReason[]
  /** Further attributes of the challenge, such as `scope`. */
  readonly challenge?: Readonly<Record<string, string>>
  /** Seconds after which a caller may try again. */
  readonly retryAfter?: number
}

/** The request is refused: the caller gets this status and one sentence, the log gets the reasons. */
export class Refusal extends GatewayError {
  override readonly name = 'Refusal'
  readonly reasons: readonly RefusalReason[]
  readonly challenge: Readonly<Record<string, string>>
  readonly retryAfter: number | undefined

  constructor(
    override readonly statusCode: number,
    code: string,
    message: string,
    detail: RefusalDetail = {},
  ) {
    super(code, message, detail)
    this.reasons = detail.reasons ?? []
    this.challenge = detail.challenge ?? {}
    this.retryAfter = detail.retryAfter
  }
}

/** A target or a provider did not respond, or sent an invalid response. */
export class UpstreamError extends GatewayError {
  override readonly name = 'UpstreamError'
  override readonly statusCode: number
  readonly retryAfter: number | undefined

  constructor(
    code: string,
    message: string,
    detail: Reason & { readonly statusCode?: 502 | 503 | 504; readonly retryAfter?: number } = {},
  ) {
    super(code, message, detail)
    this.statusCode = detail.statusCode ?? 502
    this.retryAfter = detail.retryAfter
  }
}
