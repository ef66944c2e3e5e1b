import { many } from '../capability.js'

/** Fields of the protected-resource document (RFC 9728), by their names on the wire. */
export type ResourceDocument = Readonly<Record<string, string | boolean | readonly string[]>>

/**
 * A part of the protected-resource document, which says how to get a token. Lists of several parts are joined without
 * repeats; a single value given twice with different content stops the boot.
 */
export type ResourceMetadata = ResourceDocument

export const ResourceMetadata = many<ResourceMetadata>('resource metadata')
