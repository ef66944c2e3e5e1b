import { parentPort, workerData } from 'node:worker_threads'
import { bufferOver } from './bytes.js'
import { DIGEST_SIZE, type Digest } from './digest.js'
import { batchesOf, type ParseJob } from './parse-job.js'
import { buffersOf } from './payloads.js'

/** The data that the thread is started with. */
export interface ParseThreadData {
  readonly job: ParseJob
  /** The digests of known documents, concatenated: a list of very many would take long to copy. */
  readonly digests: Uint8Array
}

// So many are copied to the thread that serves in 0.2 ms, less than a slice has.
const BATCH = 100

const { job, digests } = workerData as ParseThreadData
const batches = batchesOf(job, new Set(digestsIn(bufferOver(digests))), BATCH)

// A batch for each message, so that no more wait to be stored. Undefined is the end. An error ends the thread, and rejects
// the promise of the thread that waits for it.
parentPort?.on('message', () => {
  const { value } = batches.next()
  parentPort?.postMessage(value, value === undefined ? [] : buffersOf([value.bodies]))
})

function* digestsIn(bytes: Buffer): Generator<Digest> {
  for (let at = 0; at < bytes.length; at += DIGEST_SIZE) yield bytes.toString('latin1', at, at + DIGEST_SIZE)
}
