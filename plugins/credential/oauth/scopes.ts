import type { Challenge } from './challenge.js'
import type { Provider } from './discovery.js'
import { type JsonDocument, textsIn } from './documents.js'
import type { OAuthOptions } from './options.js'
import type { Session } from './session.js'

const OPENID = ['openid', 'profile', 'email']

interface Known {
  readonly challenge: Challenge
  readonly provider: Provider
  /** The login before this one. Its scopes are kept, unless another issuer would have to know them. */
  readonly previous: Session | undefined
}

/** The scopes to ask for: the operator's, the challenge's, the resource's, or none, and with them all from before. */
export function scopesFor(
  options: OAuthOptions,
  { challenge, provider, previous }: Known,
): readonly string[] {
  const { scopes, issuer, grant } = options
  const before = previous?.server.issuer === provider.server.issuer ? previous.scopes : []
  const missing = challenge.error === 'insufficient_scope' ? challenge.scopes : []
  if (scopes !== undefined) return united(scopes, before, missing)
  const wanted =
    issuer !== undefined && grant !== 'client_credentials'
      ? united(OPENID, challenge.scopes)
      : (challenge.scopes ?? provider.scopes ?? [])
  const all = united(before, wanted)
  return mayLast(provider, grant) ? united(all, ['offline_access']) : all
}

/** Without a refresh token a login ends within the hour, and this scope asks for one where the issuer knows it. */
function mayLast({ server }: Provider, grant: OAuthOptions['grant']): boolean {
  const offered = textsIn(server as JsonDocument, 'scopes_supported') ?? []
  return grant !== 'client_credentials' && offered.includes('offline_access')
}

const united = (...lists: readonly (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((list) => list ?? [])),
]
