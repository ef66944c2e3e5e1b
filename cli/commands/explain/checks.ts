import type { FastifyRequest } from 'fastify'
import {
  Authenticator,
  definePlugin,
  type Entry,
  type Gateway,
  IssuerMetadata,
  type List,
  Policy,
} from 'sallyport'
import { bearerCredentials } from 'sallyport/toolkit'
import { withPart } from '../../config/part-of-list.js'
import type { Located } from '../../config/result.js'

/** What judges the requests of one scope, each in order. */
export interface ScopeChecks {
  readonly scope: string
  readonly authenticators: readonly Authenticator[]
  readonly policies: readonly Policy[]
  /** A request to the scope from this machine, with a token if there is one, and without a body. */
  readonly request: (token?: string) => Promise<FastifyRequest>
}

/** Boots the authenticators and policies of a list, and nothing else of it; stops them when `work` is done. */
export async function withChecks<T>(
  list: Located<List>,
  work: (scopes: readonly ScopeChecks[]) => Promise<T>,
): Promise<T> {
  const scopes: ScopeChecks[] = []
  const part = { capabilities: [Authenticator, IssuerMetadata, Policy], user: () => collector(scopes) }
  return withPart(list, part, () => work(scopes))
}

function collector(scopes: ScopeChecks[]): Entry {
  const use = definePlugin({
    name: 'explain',
    api: 1,
    setup(gateway) {
      const [authenticators, policies] = [gateway.use(Authenticator), gateway.use(Policy)]
      const request = requests(gateway)
      const { scope } = gateway
      gateway.onStart(() => {
        scopes.push({ scope, authenticators: authenticators(), policies: policies(), request })
      })
    },
  })
  return { use }
}

/** Makes requests of Fastify, which policies look at. */
function requests({ http, root, scope }: Gateway): ScopeChecks['request'] {
  let taken: FastifyRequest | undefined
  // Nobody else can call it: no port is opened.
  http.post('/*', { config: { public: true } }, async (request) => {
    taken = request
    return {}
  })
  return async (token) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { statusCode } = await root.inject({ method: 'POST', url: `${scope}/`, headers })
    if (taken === undefined) throw new Error(`no request could be made here (${statusCode})`)
    taken.isOpen = false
    if (token !== undefined) taken.credentials = bearerCredentials(token)
    return taken
  }
}
