import { Worker } from 'node:worker_threads'
import { threadEntry } from '../thread-entry.js'
import { type Failure, failureOf } from './failure.js'
import type { Answer, Served, ThreadData } from './thread.js'

/** A call of a database failed and changed nothing. */
export class DatabaseError extends Error {
  constructor(
    readonly path: string,
    readonly failure: Failure,
  ) {
    super(`${path}: ${failure.reason}`)
  }
}

/** Whether the disk is full, or has another failure that may pass. */
export const isDiskFailure = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.failure.kind === 'disk'

type Kind = keyof Served
type Calls<K extends Kind> = Served[K]['reads'] & Served[K]['writes']
type Arguments<Call> = Call extends (...args: infer Args) => unknown ? Args : never
type Result<Call> = Call extends (...args: never[]) => infer R ? R : never

interface Waiting {
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** A database in a thread of its own, since SQLite blocks its thread while it waits for the disk or other processes. */
export class Database<K extends Kind> {
  private readonly worker: Worker
  private readonly waiting = new Map<number, Waiting>()
  private lastId = 0
  private ended: Error | undefined
  private readonly exited: Promise<void>

  /** Rejects when the database cannot be opened. Later calls try to open it again. */
  readonly opened: Promise<void>

  constructor(
    readonly path: string,
    kind: K,
  ) {
    // By name: in the published package, which is bundled, this file has another path.
    const href = import.meta.resolve('#plugins/store/sqlite/thread.js')
    this.worker = new Worker(threadEntry(href), {
      eval: true,
      name: `database ${kind}`,
      workerData: { path, kind } satisfies ThreadData,
    })
    this.worker.on('message', (answer: Answer) => this.answered(answer))
    this.worker.on('error', (error) => this.end(error))
    this.exited = new Promise((resolve) => {
      this.worker.once('exit', () => {
        this.end(new Error('the gateway is stopping'))
        resolve()
      })
    })
    this.opened = new Promise((resolve, reject) => void this.waiting.set(0, { resolve, reject }))
    this.opened.catch(() => {})
  }

  /** Transfers an argument that is an `ArrayBuffer`: it is empty afterwards. */
  call<Name extends keyof Calls<K> & string>(
    name: Name,
    ...args: Arguments<Calls<K>[Name]>
  ): Promise<Result<Calls<K>[Name]>> {
    return new Promise((resolve, reject) => {
      if (this.ended !== undefined) return reject(this.ended)
      const id = ++this.lastId
      this.waiting.set(id, { resolve, reject })
      // An idle thread does not keep the process alive.
      this.worker.ref()
      this.worker.postMessage(
        { id, name, args },
        args.filter((value) => value instanceof ArrayBuffer),
      )
    })
  }

  /** Closes the database after all earlier calls. */
  async close(): Promise<void> {
    this.worker.ref()
    this.worker.postMessage(undefined)
    await this.exited
  }

  private answered({ id, result, failure }: Answer): void {
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    if (this.waiting.size === 0) this.worker.unref()
    if (failure === undefined) waiting?.resolve(result as never)
    else waiting?.reject(new DatabaseError(this.path, failure))
  }

  private end(cause: unknown): void {
    this.ended ??= new DatabaseError(this.path, failureOf(cause))
    for (const { reject } of this.waiting.values()) reject(this.ended)
    this.waiting.clear()
  }
}
