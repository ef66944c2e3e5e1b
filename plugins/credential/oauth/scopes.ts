import type { JsonObject } from 'sallyport/toolkit'
import type { Challenge } from './challenge.js'
import type { Provider } from './discovery.js'
import { textsIn } from './documents.js'
import type { OAuthOptions } from './options.js'
import type { Session } from './session.js'

const OPENID = ['openid', 'profile', 'email']
const OFFLINE = 'offline_access'

interface LoginContext {
  readonly challenge: Challenge
  readonly provider: Provider
  /** The session before this login. Its scopes are requested again, unless the issuer is another. */
  readonly previous: Session | undefined
}

export interface RequestedScopes {
  readonly scopes: readonly string[]
  /** The scopes for a second attempt, when the issuer refuses `offline_access`, which only the gateway added. */
  readonly fallback?: readonly string[]
}

/**
 * The scopes to request: those of the options, else of the challenge, else of the resource; and all scopes of the
 * previous session.
 */
export function scopesFor(
  options: OAuthOptions,
  { challenge, provider, previous }: LoginContext,
): RequestedScopes {
  const { scopes, issuer, grant } = options
  const earlier = previous?.server.issuer === provider.server.issuer ? previous.scopes : []
  const missing = challenge.error === 'insufficient_scope' ? challenge.scopes : []
  if (scopes !== undefined) return { scopes: union(scopes, earlier, missing) }
  const requested =
    issuer !== undefined && grant !== 'client_credentials'
      ? union(OPENID, challenge.scopes)
      : (challenge.scopes ?? provider.scopes ?? [])
  const all = union(earlier, requested)
  if (all.includes(OFFLINE) || !offersOfflineAccess(provider, grant)) return { scopes: all }
  return { scopes: [...all, OFFLINE], fallback: all }
}

/** Without a refresh token a session ends within the hour, and this scope requests one where the issuer supports it. */
function offersOfflineAccess({ server }: Provider, grant: OAuthOptions['grant']): boolean {
  const offered = textsIn(server as JsonObject, 'scopes_supported') ?? []
  return grant !== 'client_credentials' && offered.includes(OFFLINE)
}

const union = (...lists: readonly (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((list) => list ?? [])),
]
