import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadEntry } from '#plugins/store/thread-entry.js'
import type { Batch, ParseJob } from './parse-thread.js'
import { buffersOf } from './payloads.js'

// A small young generation keeps the heap of the thread small.
const YOUNG_GENERATION_MB = 8

/**
 * Parses documents in a thread of its own, so that requests do not wait for the parsing. A thread waits for the next
 * job, but ends after a large one: a waiting thread would keep the memory of that job.
 */
export class ParserThread {
  private idle: Worker | undefined
  private isClosed = false

  /** Starts a thread before the first job: a start takes about 60 ms. */
  start(): void {
    this.idle ??= this.started()
  }

  /** The thread parses the next batch while the caller stores this one. */
  async *batches(job: ParseJob, isLarge: boolean, signal: AbortSignal): AsyncGenerator<Batch> {
    signal.throwIfAborted()
    const worker = this.idle ?? this.started()
    this.idle = undefined
    worker.ref()
    const over = new AbortController()
    const failure = failureOf(worker, signal, over.signal)
    let isDone = false
    try {
      for (let next = answerOf(worker, job); !isDone; ) {
        const batch = await Promise.race([next, failure])
        isDone = batch === undefined
        if (batch === undefined) break
        next = answerOf(worker)
        yield batch
      }
    } finally {
      over.abort()
      worker.unref()
      if (isDone && !isLarge && !this.isClosed && this.idle === undefined) this.idle = worker
      else await worker.terminate()
    }
  }

  /** What is parsed ends by its own signal. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.idle?.terminate()
  }

  private started(): Worker {
    // By name: in the published package, which is bundled, this file has another path.
    const href = import.meta.resolve('#plugins/registry/parse-thread.js')
    const worker = new Worker(threadEntry(href), {
      eval: true,
      name: 'registry sync',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    worker.unref()
    // Without a listener, an error of a waiting thread would end the process.
    worker.on('error', () => {})
    worker.once('exit', () => {
      if (this.idle === worker) this.idle = undefined
    })
    return worker
  }
}

/** The answer to a job, or to a request for more of it. */
const answerOf = (worker: Worker, job?: ParseJob): Promise<Batch | undefined> =>
  new Promise((resolve) => {
    worker.once('message', resolve)
    worker.postMessage(job, job === undefined ? [] : buffersOf(job.payloads.chunks))
  })

/** Rejects when the thread or the sync ends, until it is over. */
function failureOf(worker: Worker, signal: AbortSignal, over: AbortSignal): Promise<never> {
  const failure = once(worker, 'exit', { signal: AbortSignal.any([signal, over]) }).then(
    ([code]): never => {
      throw new Error(`the thread that parses its documents exited early, with code ${code}`)
    },
    (error: unknown): never => {
      throw signal.aborted ? signal.reason : error
    },
  )
  // A rejection may come after the last listener has gone.
  failure.catch(() => {})
  return failure
}
