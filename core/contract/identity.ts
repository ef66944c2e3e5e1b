/** The sender of a request, as an authenticator established it. */
export interface Identity {
  /** The authenticator that accepted the request. */
  readonly provider: string
  readonly subject: string
  readonly issuer?: string
  readonly scopes?: readonly string[]
  /** The provider's claims. Check their types before use. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The verified token itself, for a token exchange. Never for a log. */
  readonly token?: string
  /** Seconds since the epoch. */
  readonly expiresAt?: number
}
