import { ByteBudget } from 'sallyport/toolkit'

// Bytes. Nearly all calls are smaller.
const ORDINARY = 64 * 1024
// At least so many callers are needed to fill the budget.
const SHARES = 8
/** Milliseconds without a byte after which a body may be evicted. */
const MAY_STALL = 1000

/** Holds bytes of a body while more of them arrive. */
export interface Evictable {
  /** Frees the bytes: the body has stalled, and another body needs the memory. */
  evict(): void
}

/**
 * Limits the bytes that are kept of all bodies. Large bodies leave a quarter of the budget to ordinary calls, and one
 * caller has an eighth at most. When the budget is full, it evicts stalled bodies for those that arrive.
 */
export class BodyBudget {
  private readonly all: ByteBudget
  private readonly large: ByteBudget
  private readonly share: number
  private readonly shares = new Map<string, number>()
  /** The time of the last bytes of each arriving body. The first entry has stalled for longest. */
  private readonly arriving = new Map<KeptBytes, number>()

  constructor(limit: number) {
    this.all = new ByteBudget(limit)
    this.large = new ByteBudget(limit * 0.75)
    this.share = limit / SHARES
  }

  /** `false` when the budget is full. */
  reserve(kept: KeptBytes, bytes: number): boolean {
    if (!this.hasShare(kept, bytes)) return false
    const large = beyondOrdinary(kept.size + bytes) - beyondOrdinary(kept.size)
    if (!this.large.reserve(large)) return false
    if (!this.all.reserve(bytes)) {
      this.large.free(large)
      return false
    }
    this.addToShare(kept, bytes)
    return true
  }

  /** Reserves, and evicts stalled bodies if needed; `false` when there are none. */
  demand(kept: KeptBytes, bytes: number): boolean {
    while (!this.reserve(kept, bytes)) if (!this.hasShare(kept, bytes) || !this.evictStalled()) return false
    return true
  }

  free(kept: KeptBytes, bytes: number): void {
    this.all.free(bytes)
    this.large.free(beyondOrdinary(kept.size) - beyondOrdinary(kept.size - bytes))
    this.addToShare(kept, -bytes)
  }

  arrived(kept: KeptBytes): void {
    this.arriving.delete(kept)
    this.arriving.set(kept, performance.now())
  }

  settled(kept: KeptBytes): void {
    this.arriving.delete(kept)
  }

  private evictStalled(): boolean {
    const [[kept, since] = []] = this.arriving
    if (kept === undefined || since === undefined || performance.now() - since < MAY_STALL) return false
    this.arriving.delete(kept)
    kept.holder.evict()
    return true
  }

  private hasShare({ caller }: KeptBytes, bytes: number): boolean {
    return caller === undefined || (this.shares.get(caller) ?? 0) + bytes <= this.share
  }

  private addToShare({ caller }: KeptBytes, bytes: number): void {
    if (caller === undefined) return
    const sum = (this.shares.get(caller) ?? 0) + bytes
    if (sum === 0) this.shares.delete(caller)
    else this.shares.set(caller, sum)
  }
}

/** The bytes that are kept of one body. `caller` is undefined for requests that plugins dispatch. */
export class KeptBytes {
  size = 0

  constructor(
    private readonly budget: BodyBudget,
    readonly caller: string | undefined,
    readonly holder: Evictable,
  ) {}

  /** Reserves more bytes; `false` when the budget is full. */
  reserve(bytes: number): boolean {
    const fits = this.budget.reserve(this, bytes)
    if (fits) this.size += bytes
    return fits
  }

  /** Reserves more bytes, and evicts stalled bodies if needed. */
  demand(bytes: number): boolean {
    const fits = this.budget.demand(this, bytes)
    if (fits) this.size += bytes
    return fits
  }

  /** Bytes of the body have arrived, and more are expected. */
  arrived(): void {
    if (this.size > 0) this.budget.arrived(this)
  }

  /** For now the gateway expects no more bytes from the caller. */
  settled(): void {
    this.budget.settled(this)
  }

  free(bytes = this.size): void {
    this.budget.free(this, bytes)
    this.size -= bytes
    if (this.size === 0) this.settled()
  }
}

const beyondOrdinary = (bytes: number): number => Math.max(bytes - ORDINARY, 0)

/** A request body that is being received. */
export interface IncomingBody {
  /** Bytes since the last sweep; infinite when the body was not read meanwhile. */
  received: number
  /** Whether too few bytes had arrived at the last sweep. */
  wasSlow: boolean
  onTooSlow(): void
}

/** Finds bodies that stall or trickle. One sweep checks all: a timer for each would cost more than most bodies do. */
export class SlowBodies {
  private readonly bodies = new Set<IncomingBody>()
  private readonly timer: NodeJS.Timeout
  private readonly minBytes: number

  /**
   * A body may stall, or arrive at less than `rate` bytes a second, for `limit` milliseconds, and for half as long
   * again at most.
   */
  constructor(limit: number, rate: number) {
    this.minBytes = Math.max((rate * limit) / 2000, 1)
    this.timer = setInterval(() => this.sweep(), limit / 2).unref()
  }

  add(body: IncomingBody): void {
    body.wasSlow = false
    this.bodies.add(body)
  }

  delete(body: IncomingBody): void {
    this.bodies.delete(body)
  }

  close(): void {
    clearInterval(this.timer)
  }

  private sweep(): void {
    for (const body of this.bodies) {
      const wasSlow = body.received < this.minBytes
      const isTooSlow = wasSlow && body.wasSlow
      body.received = 0
      body.wasSlow = wasSlow
      if (!isTooSlow) continue
      this.bodies.delete(body)
      body.onTooSlow()
    }
  }
}
