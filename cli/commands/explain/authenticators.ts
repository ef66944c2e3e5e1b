import { Authenticator, definePlugin, type Entry, IssuerMetadata, type List } from 'sallyport'
import { withPart } from '../../config/part-of-list.js'
import type { Located } from '../../config/result.js'

/** The authenticators of one scope, in order. */
export interface ScopeAuthenticators {
  readonly scope: string
  readonly authenticators: readonly Authenticator[]
}

/** Boots the authenticators of a list, and nothing else of it; stops them when `work` is done. */
export async function withAuthenticators<T>(
  list: Located<List>,
  work: (scopes: readonly ScopeAuthenticators[]) => Promise<T>,
): Promise<T> {
  const scopes: ScopeAuthenticators[] = []
  const part = { capabilities: [Authenticator, IssuerMetadata], user: () => collector(scopes) }
  return withPart(list, part, () => work(scopes))
}

function collector(scopes: ScopeAuthenticators[]): Entry {
  const use = definePlugin({
    name: 'explain',
    api: 1,
    setup(gateway) {
      const authenticators = gateway.use(Authenticator)
      gateway.onStart(() => void scopes.push({ scope: gateway.scope, authenticators: authenticators() }))
    },
  })
  return { use }
}
