import { BodyWriter } from './body-writer.js'
import type { Digest } from './digest.js'
import { JsonScan } from './json-scan.js'
import { type DocumentLimits, documentsIn, type ParsedDocument, Parser } from './parser.js'
import { eachPayload, type Payloads } from './payloads.js'

/** What a source gave. It is plain data, since it may go to another thread. */
export interface ParseJob {
  readonly payloads: Payloads
  readonly limits: DocumentLimits
}

interface LocatedDocument {
  /** Of how many payloads, and how many documents of its own, it comes after. */
  readonly payload: number
  readonly index: number
  readonly parsed: ParsedDocument
}

// A short document takes far more memory here than it has bytes.
const MOST_DOCUMENTS = 1_000_000

export interface Batch {
  readonly documents: readonly LocatedDocument[]
  /** The bodies of their versions. */
  readonly bodies: Uint8Array
}

/** The documents of a source, up to `size` at a time. Throws at the first payload that is not JSON. */
export function* batchesOf(
  { payloads, limits }: ParseJob,
  known: { has(digest: Digest): boolean },
  size: number,
): Generator<Batch> {
  const writer = new BodyWriter()
  const parser = new Parser(limits, known, writer)
  let documents: LocatedDocument[] = []
  let count = 0
  for (const [payload, bytes] of [...eachPayload(payloads)].entries()) {
    const first = count
    const scan = new JsonScan(bytes)
    for (const span of documentsIn(scan)) {
      if (count === MOST_DOCUMENTS) throw new Error(`it has more than ${MOST_DOCUMENTS} documents`)
      documents.push({ payload, index: count - first, parsed: parser.parse(scan, span, count) })
      count++
      if (documents.length < size) continue
      yield { documents, bodies: writer.take() }
      documents = []
    }
  }
  if (documents.length > 0) yield { documents, bodies: writer.take() }
}
