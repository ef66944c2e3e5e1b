import { isUtf8 } from 'node:buffer'
import type { DocumentPosition, ServerStatus } from 'sallyport'
import { isJsonObject, OFFICIAL } from 'sallyport/toolkit'
import type { z } from 'zod'
import type { BodyWriter } from './body-writer.js'
import { type Digest, digestOf } from './digest.js'
import type { JsonScan, Span } from './json-scan.js'
import { givenMetadata, serverDocument } from './server-document.js'
import { type Dates, datesText, HEAD, writeMetadata } from './version-text.js'

export type ParsedDocument = ParsedVersion | KnownDocument | { readonly refused: Fault }

/** A valid document. */
export interface ParsedVersion {
  readonly name: string
  readonly version: string
  readonly status: ServerStatus
  readonly publishedAt: string | undefined
  readonly updatedAt: string | undefined
  /** Of the bytes that the source gave. */
  readonly sourceDigest: Digest
  /** Of the publisher's document. */
  readonly documentDigest: Digest
  /** Where its body begins, the response up to the value of `isLatest`, and where the room for it ends. */
  readonly start: number
  readonly end: number
  /** Where in it the document ends, and where the dates begin. */
  readonly documentEnd: number
  readonly datesAt: number
}

/** The same bytes as before. */
export interface KnownDocument {
  readonly known: Digest
}

/** What is wrong with a document. */
export interface Fault {
  /** The document's name and version, as far as it has them. */
  readonly name: string
  readonly reason: string
  /** To the value that is wrong. */
  readonly path: DocumentPosition['path']
}

/** The documents in a payload, in any of the forms that a source may give. Throws when it is not JSON at all. */
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

/** The most that one document may have. */
export interface DocumentLimits {
  readonly bytes: number
  readonly depth: number
  readonly values: number
}

export const limitsOf = (bytes: number): DocumentLimits => ({ bytes, depth: 100, values: 10_000 })

// A message of 500 characters takes 3,000 when each is escaped; the rest is names and dates.
const METADATA_BYTES = 4_000

/** For what is stored: the same documents, and around them what the registry added. */
export const withMetadata = ({ bytes, depth, values }: DocumentLimits): DocumentLimits => ({
  bytes: bytes + METADATA_BYTES,
  depth: depth + 1,
  values: values + 20,
})

/** Validates documents one by one. */
export class Parser {
  constructor(
    private readonly limits: DocumentLimits,
    /** The digests of documents that need not be parsed again. */
    private readonly known: { has(digest: Digest): boolean },
    /** What the bodies of versions are written with. */
    private readonly writer: BodyWriter,
  ) {}

  /** `index`: how many documents came before. */
  parse(scan: JsonScan, span: Span, index: number): ParsedDocument {
    const number = `document ${index + 1}`
    const { limits } = this
    if (span.end - span.start > limits.bytes) return refused(number, `larger than ${limits.bytes} bytes`)
    const bytes = scan.bytes.subarray(span.start, span.end)
    const sourceDigest = digestOf(bytes)
    if (this.known.has(sourceDigest)) return { known: sourceDigest }
    if (!isUtf8(bytes)) return refused(number, 'not UTF-8')
    // Few bytes of either take long to parse, here and at every client.
    const { depth, values } = scan.measure(span)
    if (depth > limits.depth) return refused(number, `nested more than ${limits.depth} levels deep`)
    if (values > limits.values) return refused(number, `more than ${limits.values} values`)
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch {
      return refused(number, 'not JSON')
    }
    return validated(scan, span, value, { number, sourceDigest, writer: this.writer })
  }
}

function validated(
  scan: JsonScan,
  span: Span,
  value: unknown,
  {
    number,
    sourceDigest,
    writer,
  }: { readonly number: string; readonly sourceDigest: Digest; readonly writer: BodyWriter },
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
  // It is a part of URLs, which hold no half of a surrogate pair.
  const version = read.data.version.toWellFormed()
  const outer = wrapped && isJsonObject(value['_meta']) ? value['_meta'][OFFICIAL] : undefined
  const given = givenMetadata.safeParse(outer ?? {})
  if (!given.success) {
    const path = pathOf(given.error, ['_meta', OFFICIAL])
    return refused(`${name}@${version}`, `${OFFICIAL}: ${reasonOf(given.error)}`, path)
  }

  const { status, statusMessage, statusChangedAt, publishedAt, updatedAt } = given.data
  const start = writer.end
  writer.text(HEAD)
  const document = writer.compact(scan, (wrapped ? scan.member(span.start, 'server') : span) ?? span)
  const documentDigest = digestOf(document)
  const documentEnd = writer.end - start
  const others = wrapped ? scan.member(span.start, '_meta') : undefined
  writeMetadata(writer, scan, others, { status, statusMessage, statusChangedAt })
  const datesAt = writer.end - start
  writer.text(datesText(longestDates({ publishedAt, updatedAt })))
  const identity = { name, version, status, publishedAt, updatedAt, sourceDigest, documentDigest }
  return { ...identity, start, end: writer.end, documentEnd, datesAt }
}

const LONGEST_DATE = new Date(8.64e15).toISOString()

/** Dates that are not known yet take at most this much room: one is made of milliseconds, or is the other one. */
function longestDates(given: { readonly [K in keyof Dates]: string | undefined }): Dates {
  const { publishedAt = LONGEST_DATE } = given
  const { updatedAt = publishedAt.padEnd(LONGEST_DATE.length) } = given
  return { publishedAt, updatedAt }
}

const refused = (name: string, reason: string, path: DocumentPosition['path'] = []): ParsedDocument => ({
  refused: { name, reason, path },
})

function pathOf({ issues: [first] }: z.ZodError, outer: DocumentPosition['path']): DocumentPosition['path'] {
  const inner = first?.path ?? []
  return [...outer, ...inner.map((step) => (typeof step === 'symbol' ? '' : step))]
}

/** `name@version`, as far as it has them. */
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
