import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import type { Version } from './columns.js'
import { type Digest, digestOf } from './digest.js'
import type { JsonScan, Span } from './json-scan.js'
import type { Payload } from './payloads.js'
import type { RefusedDocument } from './refusals.js'
import { givenMetadata, OFFICIAL, serverDocument } from './server-document.js'
import type { Texts } from './texts.js'
import { type Metadata, otherMetadata, toldOf } from './version-text.js'

/** A version that goes in. */
export interface NamedVersion {
  readonly name: string
  readonly held: Version
}

export type Admitted = NamedVersion | { readonly refused: RefusedDocument }

export interface IntakeOptions {
  /** The most bytes that one document may have. */
  readonly maxDocumentBytes: number
  readonly texts: Texts
  /** The date of what brings none, in milliseconds since the epoch. */
  readonly asOf: number
  /** The version that is held under this name now. */
  readonly before: (name: string, version: string) => Version | undefined
  /** The version that was made out of exactly these bytes the last time. */
  readonly made: (mark: Digest) => NamedVersion | undefined
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

interface Place {
  readonly payload: Payload
  /** How many documents came before. */
  readonly index: number
}

/** Judges documents one by one and makes what is to be served out of them. */
export class Intake {
  constructor(private readonly options: IntakeOptions) {}

  admit(scan: JsonScan, span: Span, { payload, index }: Place): Admitted {
    const number = `document ${index + 1}`
    const size = span.end - span.start
    if (size > this.options.maxDocumentBytes) {
      return refused(number, `larger than ${this.options.maxDocumentBytes} bytes`)
    }
    const bytes = scan.bytes.subarray(span.start, span.end)
    const mark = digestOf(bytes)
    const made = this.options.made(mark)
    if (made !== undefined) return made
    if (!isUtf8(bytes)) return refused(number, 'not UTF-8')
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch {
      return refused(number, 'not JSON')
    }
    return this.judge(scan, span, value, { number, mark, payload })
  }

  private judge(
    scan: JsonScan,
    span: Span,
    value: unknown,
    { number, mark, payload }: { readonly number: string; readonly mark: Digest; readonly payload: Payload },
  ): Admitted {
    const wrapped = isObject(value) && isObject(value['server'])
    const inner = wrapped ? value['server'] : value
    if (isObject(inner) && isObject(inner['mcpServers']))
      return refused(
        number,
        'this is what a client keeps of its servers; a server document has name, description and version',
      )
    const read = serverDocument.safeParse(inner)
    if (!read.success) return refused(titleOf(inner) ?? number, complaint(read.error))

    const { name, version } = read.data
    const outer = wrapped && isObject(value['_meta']) ? value['_meta'][OFFICIAL] : undefined
    const given = givenMetadata.safeParse(outer ?? {})
    if (!given.success) return refused(`${name}@${version}`, `${OFFICIAL}: ${complaint(given.error)}`)

    const others = wrapped ? otherMetadata(scan, scan.member(span.start, '_meta')) : []
    const own = (wrapped ? scan.member(span.start, 'server') : span) ?? span
    // From here on the bytes of this document are others.
    const moved = this.options.texts.move(scan, own, payload)
    const document = digestOf(moved.bytes)
    const before = this.options.before(name, version)
    const metadata = this.dated(given.data, before, document)
    const told = toldOf(others, metadata)
    const text = digestOf(Buffer.concat([Buffer.from(document, 'latin1'), told]))
    // A source that writes the same differently has changed nothing.
    if (before?.text === text) return { name, held: before }

    const { status } = metadata
    const dates = {
      publishedAt: Date.parse(metadata.publishedAt),
      updatedAt: Date.parse(metadata.updatedAt),
    }
    const places = this.options.texts.keep(moved.place, told)
    return { name, held: { version, status, ...dates, mark, document, text, places } }
  }

  /** A date that the source gives holds; without one a document is as old as what we know of it. */
  private dated(
    given: z.output<typeof givenMetadata>,
    before: Version | undefined,
    document: Digest,
  ): Metadata {
    const asOf = new Date(this.options.asOf).toISOString()
    const { status, statusMessage, statusChangedAt } = given
    const same = before !== undefined && before.status === status && before.document === document
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
    .map(({ path, message }) => {
      const said = message.replace(
        /^Invalid input: expected (\w+), received undefined$/,
        'missing, a $1 is expected',
      )
      return path.length === 0 ? said : `${path.join('.')}: ${said}`
    })
    .join('; ')
}
