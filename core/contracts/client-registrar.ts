import { many } from '../capability.js'

/** The issuer a client is wanted for, with what its metadata says of registration. */
export interface RegistrationRequest {
  readonly issuer: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
}

/** A client at one issuer. Its secret is never sent to another. */
export interface RegisteredClient {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly tokenEndpointAuthMethod?: string
  readonly redirectUris?: readonly string[]
  /** Seconds since the epoch; absent or 0 when the secret does not expire. */
  readonly secretExpiresAt?: number
}

/** Finds or makes a client for an issuer. Nothing when it cannot: then the next in the list is asked. */
export interface ClientRegistrar {
  readonly name: string
  register(request: RegistrationRequest): Promise<RegisteredClient | undefined>
  /** The issuer no longer knows a client that this registrar gave. */
  forget?(client: RegisteredClient): Promise<void>
}

export const ClientRegistrar = many<ClientRegistrar>('client registrar')
