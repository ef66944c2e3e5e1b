import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { Arena } from './arena.js'
import { HeldVersion, type Metadata } from './held-version.js'
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
  /** Where the answers are put. */
  readonly arena: Arena
  /** The date of what brings none. */
  readonly asOf: Date
  /** One text for a name, however often it is given. */
  readonly nameOf: (name: string) => string
  /** The version that is held under this name now. */
  readonly before: (name: string, version: string) => HeldVersion | undefined
  /** The version that was made out of exactly these bytes the last time. */
  readonly made: (mark: string) => HeldVersion | undefined
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
 * `{"servers":[...]}` as a registry answers it, or `{"data":{"servers":[...]}}` as registries were written before there
 * was one form for all. Nothing is looked for ahead, since the list may be very long.
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

/** Judges documents one by one and makes what is to be served out of them. */
export class Intake {
  constructor(private readonly options: IntakeOptions) {}

  admit(scan: JsonScan, span: Span, index: number): Admitted {
    const number = `document ${index + 1}`
    const size = span.end - span.start
    if (size > this.options.maxDocumentBytes) {
      return refused(number, `larger than ${this.options.maxDocumentBytes} bytes`)
    }
    const bytes = scan.bytes.subarray(span.start, span.end)
    // Half of it is enough to tell versions apart, and there are many.
    const mark = hash('sha256', bytes, 'binary').slice(0, 16)
    const made = this.options.made(mark)
    if (made !== undefined) return { held: made }
    if (!isUtf8(bytes)) return refused(number, 'not UTF-8')
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch {
      return refused(number, 'not JSON')
    }
    return this.judge(scan, span, value, { number, mark })
  }

  private judge(
    scan: JsonScan,
    span: Span,
    value: unknown,
    { number, mark }: { readonly number: string; readonly mark: string },
  ): Admitted {
    const wrapped = isObject(value) && isObject(value['server'])
    const inner = wrapped ? value['server'] : value
    const read = serverDocument.safeParse(inner)
    if (!read.success) return refused(titleOf(inner) ?? number, complaint(read.error))

    const { name, version } = read.data
    const outer = wrapped && isObject(value['_meta']) ? value['_meta'][OFFICIAL] : undefined
    const given = givenMetadata.safeParse(outer ?? {})
    if (!given.success) return refused(`${name}@${version}`, `${OFFICIAL}: ${complaint(given.error)}`)

    const document = wrapped ? scan.member(span.start, 'server') : span
    const bytes = compact(scan, document ?? span)
    const metadata = this.dated(given.data, this.options.before(name, version), bytes)
    const others = wrapped ? otherMetadata(scan, scan.member(span.start, '_meta')) : []
    const { arena, nameOf } = this.options
    return { held: HeldVersion.make({ name: nameOf(name), version, mark }, bytes, others, metadata, arena) }
  }

  /** A date that the source gives holds; without one a document is as old as what we know of it. */
  private dated(
    given: z.output<typeof givenMetadata>,
    before: HeldVersion | undefined,
    document: Uint8Array,
  ): Metadata {
    const asOf = this.options.asOf.toISOString()
    const { status, statusMessage, statusChangedAt } = given
    const same = before !== undefined && before.status === status && before.hasDocument(document)
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
  if (metadata === undefined || !scan.isObject(metadata.start)) return []
  return [...scan.members(metadata.start)]
    .filter(([key]) => key !== OFFICIAL)
    .flatMap(([key, value]) => [
      Buffer.from(`${JSON.stringify(key)}:`),
      compact(scan, scan.span(value)),
      Buffer.from(','),
    ])
}
