import { isUtf8 } from 'node:buffer'
import type { DocumentPosition } from 'sallyport'
import type { z } from 'zod'
import { isJsonObject } from '#core/toolkit/json-object.js'
import { OFFICIAL } from '#core/toolkit/metadata-keys.js'
import type { JsonScan, Span } from './json-scan.js'
import { givenMetadata, serverDocument } from './server-document.js'
import { type Digest, digestOf, type ParsedVersion } from './stored-version.js'

export type ParsedDocument = ParsedVersion | KnownDocument | { readonly refused: Fault }

/** A document with the same bytes as before. */
export interface KnownDocument {
  readonly known: Digest
}

/** What is wrong with a document. */
export interface Fault {
  /** The document's name and version, as far as it has them. */
  readonly name: string
  readonly reason: string
  /** The path to the wrong value. */
  readonly path: DocumentPosition['path']
}

/** The documents in a payload, in any form that a source may give. Throws when the payload is not JSON. */
export function* documentsIn(scan: JsonScan): Generator<Span> {
  const start = scan.begin()
  if (scan.isList(start)) scan.finish(yield* scan.elements(start))
  else if (scan.isObject(start)) {
    const { end, found } = yield* listsIn(scan, start, true)
    if (!found) yield { start, end }
    scan.finish(end)
  } else throw new SyntaxError('neither a list nor an object')
}

/**
 * `{"servers":[...]}` as the registry API has it, or `{"data":{"servers":[...]}}` as registries before it had. It reads
 * forward only, since the list may be very long.
 */
function* listsIn(
  scan: JsonScan,
  start: number,
  outer: boolean,
): Generator<Span, { readonly end: number; readonly found: boolean }> {
  const members = scan.members(start)
  let found = false
  let end: number | undefined
  for (;;) {
    const step = members.next(end)
    if (step.done === true) return { end: step.value, found }
    const [key, value] = step.value
    end = undefined
    if (key === 'servers' && scan.isList(value)) {
      end = yield* scan.elements(value)
      found = true
    } else if (outer && key === 'data' && scan.isObject(value)) {
      const inner = yield* listsIn(scan, value, false)
      end = inner.end
      found = found || inner.found
    }
  }
}

/** The most bytes and values of one document. */
export interface DocumentLimits {
  readonly bytes: number
  readonly depth: number
  readonly values: number
}

export const limitsOf = (bytes: number): DocumentLimits => ({ bytes, depth: 100, values: 10_000 })

// A message of 500 characters takes 3,000 bytes when each is escaped; the rest is names and dates.
const METADATA_BYTES = 4_000

/** The limits for stored documents: the same documents, with the metadata of the registry around them. */
export const withMetadata = ({ bytes, depth, values }: DocumentLimits): DocumentLimits => ({
  bytes: bytes + METADATA_BYTES,
  depth: depth + 1,
  values: values + 20,
})

/** A document, and the list that collects the heads of its batch. */
interface ParserInput {
  readonly scan: JsonScan
  readonly span: Span
  /** How many documents came before. */
  readonly index: number
  readonly limits: DocumentLimits
  readonly heads: Heads
}

/** Collects the beginnings of responses, one after the other. */
export class Heads {
  readonly parts: Buffer[] = []
  private end = 0

  /** Returns the start and the end of the added text. */
  add(head: Buffer): { readonly start: number; readonly end: number } {
    const start = this.end
    this.end += head.length
    this.parts.push(head)
    return { start, end: this.end }
  }
}

/** Validates a document. `known`: the digests of those that need not be parsed again. */
export function parse(given: ParserInput, known: ReadonlySet<Digest>): ParsedDocument {
  const { scan, span, limits, index } = given
  const number = `document ${index + 1}`
  if (span.end - span.start > limits.bytes) return refused(number, `larger than ${limits.bytes} bytes`)
  const bytes = scan.bytes.subarray(span.start, span.end)
  const sourceDigest = digestOf(bytes)
  if (known.has(sourceDigest)) return { known: sourceDigest }
  if (!isUtf8(bytes)) return refused(number, 'not UTF-8')
  // Deep nesting and many values take long to parse, here and in every client.
  const { depth, values } = scan.measure(span)
  if (depth > limits.depth) return refused(number, `nested more than ${limits.depth} levels deep`)
  if (values > limits.values) return refused(number, `more than ${limits.values} values`)
  try {
    return validated(given, JSON.parse(bytes.toString('utf8')), number, sourceDigest)
  } catch (error) {
    if (error instanceof SyntaxError) return refused(number, 'not JSON')
    throw error
  }
}

function validated(
  { scan, span, heads }: ParserInput,
  value: unknown,
  number: string,
  sourceDigest: Digest,
): ParsedDocument {
  const wrapped = isJsonObject(value) && isJsonObject(value['server'])
  const inner = wrapped ? value['server'] : value
  if (isJsonObject(inner) && isJsonObject(inner['mcpServers']))
    return refused(
      number,
      'this is the configuration of a client; a server document has name, description and version',
    )
  const read = serverDocument.safeParse(inner)
  if (!read.success) {
    const path = pathOf(read.error, wrapped ? ['server'] : [])
    return refused(labelOf(inner) ?? number, reasonOf(read.error), path)
  }

  const { name } = read.data
  // The version is a part of URLs, which hold no half of a surrogate pair.
  const version = read.data.version.toWellFormed()
  const outer = wrapped && isJsonObject(value['_meta']) ? value['_meta'][OFFICIAL] : undefined
  const metadata = givenMetadata.safeParse(outer ?? {})
  if (!metadata.success) {
    const path = pathOf(metadata.error, ['_meta', OFFICIAL])
    return refused(`${name}@${version}`, `${OFFICIAL}: ${reasonOf(metadata.error)}`, path)
  }

  const { status, publishedAt, updatedAt } = metadata.data
  const head = headOf(scan, span, wrapped, metadata.data)
  const stored = { ...heads.add(head), headDigest: digestOf(head) }
  return { name, version, status, publishedAt, updatedAt, sourceDigest, ...stored }
}

const SERVER = Buffer.from('{"server":')
const META = Buffer.from(',"_meta":{')
const COMMA = Buffer.from(',')

/**
 * The response up to its dates: the publisher's document and the metadata of others, as the source gave both, then the
 * metadata of the registry, in the order of the response.
 */
function headOf(
  scan: JsonScan,
  span: Span,
  wrapped: boolean,
  { status, statusMessage, statusChangedAt }: z.output<typeof givenMetadata>,
): Buffer {
  const server = (wrapped ? scan.member(span.start, 'server') : span) ?? span
  const given = wrapped ? scan.member(span.start, '_meta') : undefined
  const parts = [SERVER, scan.compact(server), META]
  if (given !== undefined && scan.isObject(given.start)) {
    for (const [key, value] of scan.members(given.start)) {
      if (key === OFFICIAL) continue
      parts.push(Buffer.from(`${JSON.stringify(key)}:`), scan.compact(scan.span(value)), COMMA)
    }
  }
  const own = JSON.stringify({ status, statusMessage, statusChangedAt }).slice(0, -1)
  return Buffer.concat([...parts, Buffer.from(`${JSON.stringify(OFFICIAL)}:${own}`)])
}

const refused = (name: string, reason: string, path: DocumentPosition['path'] = []): ParsedDocument => ({
  refused: { name, reason, path },
})

function pathOf({ issues: [first] }: z.ZodError, outer: DocumentPosition['path']): DocumentPosition['path'] {
  const inner = first?.path ?? []
  return [...outer, ...inner.map((step) => (typeof step === 'symbol' ? '' : step))]
}

/** `name@version`, or the parts of it that the document has. */
function labelOf(value: unknown): string | undefined {
  if (!isJsonObject(value) || typeof value['name'] !== 'string') return undefined
  const { name, version } = value
  return (typeof version === 'string' ? `${name}@${version}` : name).slice(0, 300)
}

function reasonOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => {
      const missing = /^Invalid input: expected (\w+), received undefined$/
      const sentence = message.replace(missing, 'missing, a $1 is expected')
      return path.length === 0 ? sentence : `${path.join('.')}: ${sentence}`
    })
    .join('; ')
}
