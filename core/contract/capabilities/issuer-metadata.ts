import { many } from '../capability.js'
import type { Fetch } from '../egress/fetcher.js'

/**
 * Finds what an issuer says of itself, by `fetch`, which keeps the provider's own rules. `undefined` when it knows
 * nothing of that issuer: the next in the list is asked. It throws when a document is not to be trusted, such
 * as one that names another issuer by as little as a slash (OIDC Discovery 4.3, RFC 8414 3.3).
 */
export type IssuerMetadata = (
  issuer: string,
  fetch: Fetch,
) => Promise<Readonly<Record<string, unknown>> | undefined>

export const IssuerMetadata = many<IssuerMetadata>('issuer metadata')
