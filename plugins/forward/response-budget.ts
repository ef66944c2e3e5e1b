import { ByteBudget } from './byte-budget.js'

/** A response that its caller has yet to read. */
export interface Unread {
  /** When something of it was read last, as `performance.now()` tells it. */
  readonly readAt: number
  /** Ends it, and frees its bytes. */
  cutOff(): void
}

/** Milliseconds: callers that read at all do so more often. */
const STALLED_AFTER = 100

/** Limits the bytes of all responses that are held. Where it is full, those end first that nobody has read for longest. */
export class ResponseBudget {
  private readonly bytes: ByteBudget
  /** Those that were read last are last. */
  private readonly unread = new Set<Unread>()

  constructor(limit: number) {
    this.bytes = new ByteBudget(limit)
  }

  /** `false` when there is no room. */
  reserve(bytes: number): boolean {
    if (this.bytes.reserve(bytes)) return true
    const latest = performance.now() - STALLED_AFTER
    for (const response of this.unread) {
      if (response.readAt > latest) break
      response.cutOff()
      if (this.bytes.reserve(bytes)) return true
    }
    return false
  }

  free(bytes: number): void {
    this.bytes.free(bytes)
  }

  wasRead(response: Unread): void {
    this.unread.delete(response)
    this.unread.add(response)
  }

  remove(response: Unread): void {
    this.unread.delete(response)
  }
}
