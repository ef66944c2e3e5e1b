// Neither of them brings types; this is as much of them as the kit uses.
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
}

declare module 'oidc-provider-8' {
  export { default } from 'oidc-provider'
}
