import { Worker } from 'node:worker_threads'
import { threadEntry } from '#plugins/store/thread-entry.js'
import type { Digest } from './digest.js'
import type { Batch, ParseJob } from './parse-job.js'
import type { ParseThreadData } from './parse-thread.js'
import { buffersOf } from './payloads.js'

// The thread makes much garbage and no request waits for it: frequent collections keep its heap small.
const YOUNG_GENERATION_MB = 8

/**
 * The documents of a source, parsed in a thread that lives for them alone, so that between syncs it takes no memory and
 * there is nothing to stop. While one batch is stored, the thread parses the next.
 */
export async function* parsedInThread(
  job: ParseJob,
  known: readonly Digest[],
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  signal.throwIfAborted()
  const digests = Buffer.from(known.join(''), 'latin1')
  // By name: the published package is bundled, and this code is not in its source folder there.
  const href = import.meta.resolve('#plugins/registry/parse-thread.js')
  const worker = new Worker(threadEntry(href), {
    eval: true,
    name: 'registry sync',
    workerData: { job, digests } satisfies ParseThreadData,
    transferList: buffersOf(job.payloads.chunks),
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  })
  const failure = failureOf(worker, signal)
  try {
    for (let next = askFor(worker); ; ) {
      const batch = await Promise.race([next, failure])
      if (batch === undefined) return
      next = askFor(worker)
      yield batch
    }
  } finally {
    void worker.terminate()
  }
}

const askFor = (worker: Worker): Promise<Batch | undefined> =>
  new Promise((resolve) => {
    worker.once('message', resolve)
    worker.postMessage('next')
  })

function failureOf(worker: Worker, signal: AbortSignal): Promise<never> {
  const failure = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    worker.once('error', reject)
    worker.once('exit', (code) => {
      signal.removeEventListener('abort', stop)
      reject(new Error(`the thread that parses its documents exited early, with code ${code}`))
    })
  })
  // It may come when nobody waits for it any more.
  failure.catch(() => {})
  return failure
}
