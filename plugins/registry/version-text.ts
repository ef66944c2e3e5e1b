import type { ServerStatus } from 'sallyport'
import type { JsonScan, Span } from './json-scan.js'
import { OFFICIAL } from './server-document.js'

/** What the registry says of a version. Dates are texts, so that a given one is served as it came. */
export interface Metadata {
  readonly status: ServerStatus
  readonly statusMessage?: string | undefined
  readonly statusChangedAt?: string | undefined
  readonly publishedAt: string
  readonly updatedAt: string
}

/** An answer is this, the publisher's document, what is told of it, and whether it is the latest version. */
export const HEAD = Buffer.from('{"server":')
const META = Buffer.from(',"_meta":{')
const LATEST = Buffer.from('true}}}')
const NOT_LATEST = Buffer.from('false}}}')

/** What is told of a document, up to the place where it says whether it is the latest version. */
export function toldOf(others: readonly Uint8Array[], metadata: Metadata): Uint8Array {
  const { status, statusMessage, statusChangedAt, publishedAt, updatedAt } = metadata
  const told = { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
  const own = `${JSON.stringify(OFFICIAL)}:${JSON.stringify(told).slice(0, -1)},"isLatest":`
  return Buffer.concat([META, ...others, Buffer.from(own)])
}

export const endOf = (isLatest: boolean): Buffer => (isLatest ? LATEST : NOT_LATEST)

function compact(scan: JsonScan, span: Span): Uint8Array {
  const out = Buffer.allocUnsafe(span.end - span.start)
  return out.subarray(0, scan.copyCompact(span, out, 0))
}

/** What others say of the server beside us, each with its key and a comma behind it. */
export function otherMetadata(scan: JsonScan, metadata: Span | undefined): Uint8Array[] {
  if (metadata === undefined || !scan.isObject(metadata.start)) return []
  return [...scan.members(metadata.start)]
    .filter(([key]) => key !== OFFICIAL)
    .flatMap(([key, value]) => [
      Buffer.from(`${JSON.stringify(key)}:`),
      compact(scan, scan.span(value)),
      Buffer.from(','),
    ])
}
