import { many } from '../capability.js'
import type { Fetch } from '../fetch.js'

/** The issuer at which the gateway needs a client, with its metadata. */
export interface RegistrationRequest {
  readonly issuer: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Empty for a grant without redirect. */
  readonly redirectUris: readonly string[]
  readonly grantTypes: readonly string[]
  readonly scopes: readonly string[]
  /** For requests to this issuer. Whether private addresses are allowed depends on where its URL came from. */
  readonly fetch: Fetch
}

/** A client at one issuer. Its secret is never sent to another. */
export interface RegisteredClient {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  /**
   * A private key for `private_key_jwt` instead of the secret. No store holds it: `current` of the registrar has to
   * return it.
   */
  readonly clientKey?: string
  readonly tokenEndpointAuthMethod?: string
  readonly redirectUris?: readonly string[]
  /** Seconds since the epoch; absent or 0 when the secret does not expire. */
  readonly secretExpiresAt?: number
}

/**
 * Finds or registers a client at an issuer. It returns `undefined` when it cannot: then the next registrar in the
 * list tries. It throws when no other registrar may try either, such as when the operator's own client belongs to
 * another issuer.
 */
export interface ClientRegistrar {
  readonly name: string
  register(request: RegistrationRequest): Promise<RegisteredClient | undefined>
  /**
   * Returns a client of this registrar with its current credentials: its secret may have changed since it got a
   * token.
   */
  current?(client: RegisteredClient): Promise<RegisteredClient | undefined>
  /** The issuer gave a token to this client. Called on every registrar of the list. */
  accepted?(client: RegisteredClient): Promise<void>
  /** The issuer does not know this client, or no longer. Called on every registrar of the list. */
  forget?(client: RegisteredClient): Promise<void>
}

export const ClientRegistrar = many<ClientRegistrar>('client registrar')
