// The package brings no types; this is as much of it as the plugins and the test kit use.
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  export interface GrantContext {
    body: unknown
    readonly oidc: {
      readonly client: unknown
      readonly params: Readonly<Record<string, string | undefined>>
      readonly provider: Provider
    }
  }

  export interface PageContext {
    body: unknown
    readonly path: string
    readonly type: string
    readonly status: number
    readonly req: IncomingMessage
    readonly res: ServerResponse
    set(header: string, value: string): void
  }

  interface Token {
    resourceServer: unknown
    save(): Promise<string>
  }

  export const errors: Record<
    | 'InvalidClientAuth'
    | 'InvalidGrant'
    | 'InvalidRedirectUri'
    | 'InvalidRequest'
    | 'InvalidTarget'
    | 'TemporarilyUnavailable',
    new (
      description: string,
      options?: { readonly cause: unknown },
    ) => Error
  >

  /** A code or a token, where an account is wanted for it. */
  export interface IssuedToken {
    readonly kind: string
    readonly grantId?: string
  }

  export interface AccountContext<Account = unknown> {
    readonly oidc: {
      readonly provider: Provider
      readonly params?: Readonly<Record<string, unknown>>
      readonly result?: { readonly consent?: { readonly grantId: string } }
      readonly entities: { readonly Account?: Account }
    }
  }

  /** An authorization request that waits for a person. */
  export interface Interaction {
    readonly uid: string
    readonly iat: number
    readonly params: Readonly<
      Record<'client_id' | 'redirect_uri', string> &
        Partial<Record<'scope' | 'prompt' | 'max_age' | 'resource', string>>
    >
  }

  export interface Client {
    readonly clientId: string
    readonly clientName?: string
    readonly clientAuthMethod: string
    readonly redirectUris: readonly string[]
  }

  export interface Grant {
    addOIDCScope(scopes: string): void
    addResourceScope(resource: string, scopes: string): void
    save(): Promise<string>
  }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    use(middleware: (context: PageContext, next: () => Promise<void>) => Promise<void>): void
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
    /** Where the browser goes on with this result. */
    interactionResult(request: IncomingMessage, response: ServerResponse, result: object): Promise<string>
    on(event: 'server_error', listener: (context: unknown, error: unknown) => void): void
    /** Whether host and scheme are those of forwarding headers. */
    proxy: boolean
    readonly Client: { find(id: string): Promise<Client | undefined> }
    readonly Grant: {
      new (fields: { readonly accountId: string; readonly clientId: string; readonly jti: string }): Grant
      find(id: string): Promise<Grant | undefined>
    }
    registerGrantType(
      name: string,
      handle: (context: GrantContext) => Promise<void>,
      parameters: string[],
    ): void
    readonly issuer: string
    readonly AccessToken: new (
      fields: object,
    ) => Token
    readonly ResourceServer: new (
      identifier: string,
      data: object,
    ) => object
    readonly IdToken: new (
      claims: object,
      context: { ctx: GrantContext },
    ) => { scope: string; issue(use: { use: 'idtoken' }): Promise<string> }
  }
}
