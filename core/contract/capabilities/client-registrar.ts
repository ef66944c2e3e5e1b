import { many } from '../capability.js'
import type { Fetch } from '../egress/fetcher.js'

/** The issuer a client is wanted for, with what its metadata says of registration. */
export interface RegistrationRequest {
  readonly issuer: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** None when no browser comes back. */
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly string[]
  readonly scopes: readonly string[]
  /** The way out to this issuer: its addresses are judged by who named it. */
  readonly fetch: Fetch
}

/** A client at one issuer. Its secret is never sent to another. */
export interface RegisteredClient {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  /** The private key that it proves itself with instead. It is used at once and kept nowhere. */
  readonly clientKey?: string
  readonly tokenEndpointAuthMethod?: string
  readonly redirectUris?: readonly string[]
  /** Seconds since the epoch; absent or 0 when the secret does not expire. */
  readonly secretExpiresAt?: number
}

/**
 * Finds or makes a client for an issuer. Nothing when it cannot: then the next in the list is asked. It throws when
 * nobody else may be asked either, as when the operator's own client belongs to another issuer.
 */
export interface ClientRegistrar {
  readonly name: string
  register(request: RegistrationRequest): Promise<RegisteredClient | undefined>
  /** The issuer gave a token to this client. Every registrar of the list is told. */
  accepted?(client: RegisteredClient): Promise<void>
  /** The issuer does not know this client, or no longer. Every registrar of the list is told. */
  forget?(client: RegisteredClient): Promise<void>
}

export const ClientRegistrar = many<ClientRegistrar>('client registrar')
