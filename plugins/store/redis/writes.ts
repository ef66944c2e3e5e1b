import type { Redis } from 'ioredis'
import type { Log } from 'sallyport'
import { tryWrite } from './client.js'
import { isPassing, isWriteRefusal, reasonOf } from './failure.js'

/** Whether the server takes writes: one that only answers what is read looks as if it were well. */
export class Writes {
  /** Why the last write was refused, until one is taken. */
  refusal: string | undefined

  constructor(
    private readonly prefix: string,
    private readonly log: Pick<Log, 'info' | 'warn'>,
  ) {}

  /** Writes, and throws what it fails with. */
  async try(client: Redis): Promise<void> {
    await tryWrite(client, this.prefix)
    if (this.refusal !== undefined) this.log.info('Redis takes writes again')
    this.refusal = undefined
  }

  /** Throws only when another connection may do better, such as one to the new primary; else this one can be read. */
  async admit(client: Redis): Promise<void> {
    try {
      await this.try(client)
    } catch (error) {
      this.failed(error)
      if (!isWriteRefusal(error) || isPassing(error)) throw error
    }
  }

  failed(error: unknown): void {
    const reason = reasonOf(error)
    if (!isWriteRefusal(error) || this.refusal === reason) return
    this.refusal = reason
    this.log.warn({ reason }, 'Redis refuses what is written; it is tried again')
  }
}
