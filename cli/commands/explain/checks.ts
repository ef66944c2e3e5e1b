import type { FastifyRequest } from 'fastify'
import { Authenticator, type Gateway, IssuerMetadata, type List, Policy } from 'sallyport'
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
export function withChecks<T>(
  list: Located<List>,
  work: (scopes: readonly ScopeChecks[]) => Promise<T>,
): Promise<T> {
  const part = { name: 'explain', take: checksOf, capabilities: [Authenticator, IssuerMetadata, Policy] }
  return withPart(list, part, (scopes) => work(scopes.map((checks) => checks())))
}

function checksOf(gateway: Gateway): () => ScopeChecks {
  const [authenticators, policies] = [gateway.use(Authenticator), gateway.use(Policy)]
  const request = requests(gateway)
  const { scope } = gateway
  return () => ({ scope, authenticators: authenticators(), policies: policies(), request })
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
