import type { ServerStatus, ServerVersion } from 'sallyport'

/** A version in memory: the answer for it is made once, when it comes in. */
export interface HeldVersion extends ServerVersion {
  readonly json: Buffer
  /** Where the publisher's document ends in `json`. */
  readonly documentEnd: number
  readonly publishedAt: number
  readonly updatedAt: number
}

/** What the registry says of a version. Dates are texts, so that a given one is served as it came. */
export interface Metadata {
  readonly status: ServerStatus
  readonly statusMessage?: string | undefined
  readonly statusChangedAt?: string | undefined
  readonly publishedAt: string
  readonly updatedAt: string
}

const HEAD = Buffer.from('{"server":')
const META = Buffer.from(',"_meta":{')
const OFFICIAL_KEY = '"io.modelcontextprotocol.registry/official":'
const LATEST = Buffer.from('true}}}')
const NOT_LATEST = Buffer.from('false}}}')

/**
 * Builds the answer for a version. Whether it is the latest is written last of all, because that changes with
 * its neighbours while everything before stays.
 */
export function heldVersion(
  id: { readonly name: string; readonly version: string },
  document: Uint8Array,
  otherMetadata: readonly Uint8Array[],
  { publishedAt, updatedAt, status, statusMessage, statusChangedAt }: Metadata,
): HeldVersion {
  const told = { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
  const own = Buffer.from(`${OFFICIAL_KEY}${JSON.stringify(told).slice(0, -1)},"isLatest":`)
  return {
    name: id.name,
    version: id.version,
    status,
    isLatest: false,
    json: Buffer.concat([HEAD, document, META, ...otherMetadata, own, NOT_LATEST]),
    documentEnd: HEAD.length + document.length,
    publishedAt: Date.parse(publishedAt),
    updatedAt: Date.parse(updatedAt),
  }
}

export function withLatest(held: HeldVersion, isLatest: boolean): HeldVersion {
  if (held.isLatest === isLatest) return held
  return { ...held, isLatest, json: Buffer.concat([common(held), isLatest ? LATEST : NOT_LATEST]) }
}

/** Whether the publisher's document is the same, byte for byte. */
export const hasDocument = (held: HeldVersion, document: Uint8Array): boolean =>
  held.json.subarray(HEAD.length, held.documentEnd).equals(document)

/** Whether two versions differ in nothing that the source decides. */
export const isSame = (a: HeldVersion, b: HeldVersion): boolean => common(a).equals(common(b))

const common = ({ json, isLatest }: HeldVersion): Buffer =>
  json.subarray(0, json.length - (isLatest ? LATEST.length : NOT_LATEST.length))
