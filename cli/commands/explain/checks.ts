import type { FastifyRequest } from 'fastify'
import { Authenticator, type Gateway, IssuerMetadata, type List, Policy } from 'sallyport'
import { bearerCredentials } from 'sallyport/toolkit'
import { withPart } from '../../config/part-of-list.js'
import type { Located } from '../../config/result.js'

/** The authenticators and policies of one scope, in their order. */
export interface ScopeChecks {
  readonly scope: string
  readonly authenticators: readonly Authenticator[]
  readonly policies: readonly Policy[]
  /** Makes a request to the scope from this machine, with or without a token, and without a body. */
  readonly request: (token?: string) => Promise<FastifyRequest>
}

/** Boots only the authenticators and policies of a list, and stops them when `work` is done. */
export function withChecks<T>(
  list: Located<List>,
  work: (scopes: readonly ScopeChecks[]) => Promise<T>,
): Promise<T> {
  const part = { name: 'explain', read: checksOf, capabilities: [Authenticator, IssuerMetadata, Policy] }
  return withPart(list, part, (scopes) => work(scopes.map((checks) => checks())))
}

function checksOf(gateway: Gateway): () => ScopeChecks {
  const [authenticators, policies] = [gateway.use(Authenticator), gateway.use(Policy)]
  const request = requests(gateway)
  const { scope } = gateway
  return () => ({ scope, authenticators: authenticators(), policies: policies(), request })
}

/** Makes Fastify requests for the policies. */
function requests({ http, root, scope }: Gateway): ScopeChecks['request'] {
  let made: FastifyRequest | undefined
  // No client can call this route: no port is open.
  http.post('/*', { config: { public: true } }, async (request) => {
    made = request
    return {}
  })
  return async (token) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { statusCode } = await root.inject({ method: 'POST', url: `${scope}/`, headers })
    if (made === undefined) throw new Error(`no request could be made here (${statusCode})`)
    made.isOpen = false
    if (token !== undefined) made.credentials = bearerCredentials(token)
    return made
  }
}
