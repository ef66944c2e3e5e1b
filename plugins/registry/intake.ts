import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { type HeldVersion, hasDocument, heldVersion, type Metadata } from './held-version.js'
import type { JsonScan, Span } from './json-scan.js'
import { givenMetadata, OFFICIAL, serverDocument } from './server-document.js'

/** A document that does not go in, and why. */
export interface RefusedDocument {
  /** Its name and version, as far as they can be told. */
  readonly name: string
  readonly reason: string
}

export type Admitted = { readonly held: HeldVersion } | { readonly refused: RefusedDocument }

export interface IntakeOptions {
  /** The most bytes that one document may have. */
  readonly maxDocumentBytes: number
  /** The date of what brings none. */
  readonly asOf: Date
  /** The version that is held under this name now. */
  readonly before: (name: string, version: string) => HeldVersion | undefined
}

/** The documents in a payload, in any of the forms that a source may give. Throws when it is not JSON at all. */
export function* documentsIn(scan: JsonScan): Generator<Span> {
  const root = scan.root()
  if (scan.isList(root)) yield* scan.elements(root)
  else if (!scan.isObject(root)) throw new SyntaxError('neither a list nor an object')
  else {
    const list = scan.member(root, 'servers') ?? listInside(scan, root)
    if (list === undefined) yield root
    else if (scan.isList(list)) yield* scan.elements(list)
    else throw new SyntaxError('"servers" is not a list')
  }
}

// `{"data":{"servers":[...]}}` is how registries were written before there was one form for all.
function listInside(scan: JsonScan, root: Span): Span | undefined {
  const data = scan.member(root, 'data')
  return data !== undefined && scan.isObject(data) ? scan.member(data, 'servers') : undefined
}

/** Judges documents one by one and makes what is to be served out of them. */
export class Intake {
  constructor(private readonly options: IntakeOptions) {}

  admit(scan: JsonScan, span: Span, index: number): Admitted {
    const number = `document ${index + 1}`
    const size = span.end - span.start
    if (size > this.options.maxDocumentBytes) {
      return refused(number, `larger than ${this.options.maxDocumentBytes} bytes`)
    }
    if (!isUtf8(scan.bytes.subarray(span.start, span.end))) return refused(number, 'not UTF-8')
    let value: unknown
    try {
      value = JSON.parse(scan.text(span))
    } catch {
      return refused(number, 'not JSON')
    }
    return this.judge(scan, span, value, number)
  }

  private judge(scan: JsonScan, span: Span, value: unknown, number: string): Admitted {
    const wrapped = isObject(value) && isObject(value['server'])
    const inner = wrapped ? value['server'] : value
    const read = serverDocument.safeParse(inner)
    if (!read.success) return refused(titleOf(inner) ?? number, complaint(read.error))

    const { name, version } = read.data
    const outer = wrapped && isObject(value['_meta']) ? value['_meta'][OFFICIAL] : undefined
    const given = givenMetadata.safeParse(outer ?? {})
    if (!given.success) return refused(`${name}@${version}`, `${OFFICIAL}: ${complaint(given.error)}`)

    const document = wrapped ? scan.member(span, 'server') : span
    const bytes = compact(scan, document ?? span)
    const metadata = this.dated(given.data, this.options.before(name, version), bytes)
    const others = wrapped ? otherMetadata(scan, scan.member(span, '_meta')) : []
    return { held: heldVersion({ name, version }, bytes, others, metadata) }
  }

  /** A date that the source gives holds; without one a document is as old as what we know of it. */
  private dated(
    given: z.output<typeof givenMetadata>,
    before: HeldVersion | undefined,
    document: Uint8Array,
  ): Metadata {
    const asOf = this.options.asOf.toISOString()
    const { status, statusMessage, statusChangedAt } = given
    const same = before !== undefined && before.status === status && hasDocument(before, document)
    const publishedAt = given.publishedAt ?? dateOf(before?.publishedAt) ?? asOf
    const unseen = before === undefined ? publishedAt : asOf
    const updatedAt = given.updatedAt ?? (same ? dateOf(before.updatedAt) : undefined) ?? unseen
    return { status, statusMessage, statusChangedAt, publishedAt, updatedAt }
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const dateOf = (milliseconds: number | undefined): string | undefined =>
  milliseconds === undefined ? undefined : new Date(milliseconds).toISOString()

const refused = (name: string, reason: string): Admitted => ({ refused: { name, reason } })

function titleOf(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['name'] !== 'string') return undefined
  const { name, version } = value
  return (typeof version === 'string' ? `${name}@${version}` : name).slice(0, 300)
}

function complaint({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ')
}

function compact(scan: JsonScan, span: Span): Uint8Array {
  const out = Buffer.allocUnsafe(span.end - span.start)
  return out.subarray(0, scan.copyCompact(span, out, 0))
}

/** What others say of the server beside us, each with its key and a comma behind it. */
function otherMetadata(scan: JsonScan, metadata: Span | undefined): Uint8Array[] {
  if (metadata === undefined || !scan.isObject(metadata)) return []
  return [...scan.members(metadata)]
    .filter(([key]) => key !== OFFICIAL)
    .flatMap(([key, value]) => [
      Buffer.from(`${JSON.stringify(key)}:`),
      compact(scan, value),
      Buffer.from(','),
    ])
}
