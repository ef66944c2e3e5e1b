import { hash } from 'node:crypto'

/**
 * The content of the `Authorization` header of a request: nothing, one well-formed bearer token, or anything else.
 */
export type Credentials = { readonly kind: 'none' } | { readonly kind: 'malformed' } | BearerToken

/** One well-formed bearer token. */
export class BearerToken {
  readonly kind = 'bearer'
  private computed: string | undefined

  constructor(readonly token: string) {}

  /** The key for caches: the token cannot be computed from it. */
  get digest(): string {
    this.computed ??= digestOf(this.token)
    return this.computed
  }
}

export const digestOf = (token: string): string => hash('sha256', token, 'base64url')
