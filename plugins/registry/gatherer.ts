import { Worker } from 'node:worker_threads'
import type { Fetched } from 'sallyport'
import { Breath } from './breath.js'
import { type Gathered, gather, type Job } from './gather.js'
import { type Holding, holdingOf } from './holding.js'
import { bufferOver } from './names.js'
import { buffersOf, collected } from './payloads.js'
import type { Refusals } from './refusals.js'

export type Found = Exclude<Fetched, { kind: 'unchanged' }>

// About a thousand documents: in slices they are read before a thread has started.
const WORTH_A_THREAD = 1024 * 1024
// It makes much garbage and nobody waits for it, so it is to clean up often rather than to take room.
const YOUNG_MB = 8

/**
 * Reads documents where nobody notices it: a few between requests, many in a thread of their own, whose garbage is
 * not the garbage of the thread that answers. The thread lives for one job, so that between syncs it takes nothing
 * and there is nothing to stop; and there is one at a time, which bounds what they take.
 */
export class Gatherer {
  #turn: Promise<unknown> = Promise.resolve()

  constructor(private readonly maxDocumentBytes: number) {}

  /** `holding` is what is to be held from now on: nothing when it is what is held already. */
  async gather(
    found: Found,
    before: Holding,
    refused: Uint8Array,
    signal: AbortSignal,
  ): Promise<{
    readonly holding: Holding | undefined
    readonly refusals: Refusals
    readonly bookmark: string | undefined
  }> {
    const { kind, asOf = new Date() } = found
    const { maxDocumentBytes } = this
    const breath = new Breath(signal)
    const payloads = await collected(found, breath)
    const bookmark = found.bookmark?.()
    const dated = { kind, asOf: asOf.getTime(), maxDocumentBytes }
    const chunks = before.chunks.length
    const job: Job = { ...dated, payloads, before: before.columns, chunks, refused }
    const few = payloads.size + before.bytes < WORTH_A_THREAD
    const { columns, refusals, ...fresh } = await (few ? gather(job, breath) : this.inTurn(job, signal))
    const texts = [...before.chunks, ...fresh.chunks.map(bufferOver)]
    const holding = columns === undefined ? undefined : await holdingOf(columns, texts, breath)
    return { holding, refusals, bookmark }
  }

  private inTurn(job: Job, signal: AbortSignal): Promise<Gathered> {
    const turn = this.#turn.then(() => inThread(job, signal))
    this.#turn = turn.catch(() => {})
    return turn
  }
}

function inThread(job: Job, signal: AbortSignal): Promise<Gathered> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    // A file as its beginning would not go with every flag that the process was started with.
    const worker = new Worker(beginning(), {
      eval: true,
      name: 'registry sync',
      workerData: job,
      transferList: buffersOf(job.payloads.chunks),
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    const stop = (): void => {
      reject(signal.reason)
      void worker.terminate()
    }
    signal.addEventListener('abort', stop, { once: true })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => {
      signal.removeEventListener('abort', stop)
      reject(new Error(`the thread that read its documents ended early, with code ${code}`))
    })
  })
}

function beginning(): string {
  // By name: in the package as it is published, this code is not in the folder that it was written in.
  const href = import.meta.resolve('#plugins/registry/gather-thread.js')
  const thread = JSON.stringify(href)
  if (href.endsWith('.js')) return `import(${thread})`
  // What teaches a process TypeScript does not teach its threads, on older Nodes.
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  return `import(${tsx}).then(({ register }) => { register(); return import(${thread}) })`
}
