import { parentPort } from 'node:worker_threads'
import { joined } from '#plugins/store/bytes.js'
import { bufferOver, JsonScan } from './json-scan.js'
import { type DocumentLimits, documentsIn, Heads, type ParsedDocument, parse } from './parser.js'
import { eachPayload, type Payloads } from './payloads.js'
import { DIGEST_SIZE, type Digest } from './stored-version.js'

/** The payloads that a source gave. */
export interface ParseJob {
  readonly payloads: Payloads
  readonly limits: DocumentLimits
  /** The digests of known documents, concatenated: a long list of strings would take long to copy. */
  readonly known: Uint8Array
}

interface LocatedDocument {
  /** How many payloads, and how many documents of its own payload, come before this batch. */
  readonly payload: number
  readonly index: number
  readonly parsed: ParsedDocument
}

export interface Batch {
  readonly documents: readonly LocatedDocument[]
  /** The beginnings of the responses of their versions. */
  readonly heads: Uint8Array<ArrayBuffer>
}

// The serving thread copies so many documents in 0.2 ms, less than one time slice.
const BATCH = 100
// A short document takes far more memory in the serving thread than it has bytes.
const MOST_DOCUMENTS = 1_000_000

/** The documents of a source, so many at a time. Throws at the first payload that is not JSON. */
function* batchesOf({ payloads, limits, known }: ParseJob): Generator<Batch> {
  const digests = new Set(digestsIn(bufferOver(known)))
  let heads = new Heads()
  let documents: LocatedDocument[] = []
  let count = 0
  for (const [payload, bytes] of [...eachPayload(payloads)].entries()) {
    const first = count
    const scan = new JsonScan(bytes)
    for (const span of documentsIn(scan)) {
      if (count === MOST_DOCUMENTS) throw new Error(`it has more than ${MOST_DOCUMENTS} documents`)
      const parsed = parse({ scan, span, limits, heads, index: count }, digests)
      documents.push({ payload, index: count - first, parsed })
      count++
      if (documents.length < BATCH) continue
      yield { documents, heads: joined(heads.parts) }
      documents = []
      heads = new Heads()
    }
  }
  if (documents.length > 0) yield { documents, heads: joined(heads.parts) }
}

function* digestsIn(bytes: Buffer): Generator<Digest> {
  for (let at = 0; at < bytes.length; at += DIGEST_SIZE) yield bytes.toString('latin1', at, at + DIGEST_SIZE)
}

/**
 * Sends one batch for a job, and one for each request for more, so that at most one batch waits for the store.
 * Undefined marks the end. An error ends the thread, and the sync that waits for it.
 */
function serve(): void {
  let batches: Generator<Batch> | undefined
  parentPort?.on('message', (job: ParseJob | undefined) => {
    if (job !== undefined) batches = batchesOf(job)
    const batch: Batch | undefined = batches?.next().value
    if (batch === undefined) batches = undefined
    parentPort?.postMessage(batch, batch === undefined ? [] : [batch.heads.buffer])
  })
}

serve()
