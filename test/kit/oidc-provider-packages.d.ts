// The package has no types; these are the parts that the kit uses.
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
    'InvalidGrant' | 'InvalidRedirectUri' | 'InvalidRequest' | 'InvalidTarget',
    new (
      description: string,
    ) => Error
  >

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    use(middleware: (context: PageContext, next: () => Promise<void>) => Promise<void>): void
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ readonly params: Readonly<Record<'client_id', string>> }>
    readonly Client: {
      find(id: string): Promise<{ readonly clientId: string; readonly clientName?: string } | undefined>
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
