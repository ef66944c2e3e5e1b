import { one } from '../capability.js'

/** The tokens that a provider gave for a person. They never leave the gateway but for that provider, or by a token exchange. */
export interface LoginTokens {
  readonly access: string
  readonly refresh?: string | undefined
  readonly id?: string | undefined
  /** Milliseconds since the epoch; absent when the provider does not say when the access token expires. */
  readonly expiresAt?: number | undefined
}

/** A person who signed in. */
export interface Login {
  /** The person at this provider: it never changes, and no other person gets it later. */
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly tokens: LoginTokens
}

/** A sign-in under way. */
export interface BegunLogin {
  /** The page of the provider where the browser goes. */
  readonly url: string
  /** The value of the parameter `state`, with which the browser comes back. */
  readonly state: string
  /** What `finish` needs. The caller keeps it in the browser that began, sealed. */
  readonly checks: string
}

/** Whose accounts a provider has. */
export type AccountsOf =
  /** An organisation: whoever has an account there is known to it. */
  | 'organisation'
  /** Everybody in the world can get an account. */
  | 'everybody'

/** Signs people in at the identity provider of the operator. */
export interface LoginProvider {
  /** Names the provider and how it names people. With `Login.subject` it makes a person: one of another provider is another person. */
  readonly idp: string
  /** The provider as a page names it. */
  readonly name: string
  readonly accountsOf: AccountsOf
  /** A claim that the operator has to require, where the provider has accounts of tenants that the operator does not know. */
  readonly requiredClaim?: string | undefined
  /** Begins a sign-in, which comes back to `redirectUri`. */
  begin(redirectUri: string): Promise<BegunLogin>
  /** Ends a sign-in by the query with which the browser came back. It throws for an answer that does not belong to `checks`. */
  finish(query: string, checks: string, redirectUri: string): Promise<Login>
  /**
   * Asks the provider about the person again: with new tokens and claims, or `ended` when the provider refuses the person.
   * It throws when the provider does not answer: then nothing is known of the person.
   */
  refresh(login: Login): Promise<Login | 'ended'>
}

export const LoginProvider = one<LoginProvider>('login provider')
