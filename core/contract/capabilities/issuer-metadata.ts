import { many } from '../capability.js'
import type { Fetch } from '../fetch.js'

/**
 * Gets the metadata of an issuer, by `fetch`, which applies the egress rules of the caller. Returns `undefined` when
 * there is none: then the next plugin in the list tries. It throws when a document cannot be trusted, such as one
 * that names another issuer by as little as a slash (OIDC Discovery 4.3, RFC 8414 3.3).
 */
export type IssuerMetadata = (
  issuer: string,
  fetch: Fetch,
) => Promise<Readonly<Record<string, unknown>> | undefined>

export const IssuerMetadata = many<IssuerMetadata>('issuer metadata')
