/** Who sent a request, as an authenticator established it. */
export interface Identity {
  /** The authenticator that vouches for it. */
  readonly provider: string
  readonly subject: string
  readonly issuer?: string
  readonly scopes?: readonly string[]
  /** Everything the provider said. Compare before use: its types are the provider's. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The verified token itself, for whoever exchanges it. Never for a log. */
  readonly token?: string
  /** Seconds since the epoch. */
  readonly expiresAt?: number
}
