// Neither of them brings types; this is as much of them as the kit uses.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export interface GrantContext {
    body: unknown
    readonly oidc: {
      readonly client: unknown
      readonly params: Readonly<Record<string, string | undefined>>
      readonly provider: Provider
    }
  }

  interface Token {
    resourceServer: unknown
    save(): Promise<string>
  }

  export const errors: Record<
    'InvalidGrant' | 'InvalidRequest' | 'InvalidTarget',
    new (
      description: string,
    ) => Error
  >

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
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

declare module 'oidc-provider-8' {
  export { default } from 'oidc-provider'
}
