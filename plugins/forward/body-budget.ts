import { ByteBudget } from './byte-budget.js'

// Nearly all calls are smaller.
const ORDINARY = 64 * 1024

/** Limits the bytes that are kept of all bodies. Large ones leave a quarter of it to ordinary calls, however long they stall. */
export class BodyBudget {
  private readonly all: ByteBudget
  private readonly large: ByteBudget

  constructor(limit: number) {
    this.all = new ByteBudget(limit)
    this.large = new ByteBudget(limit * 0.75)
  }

  /** Reserves so many bytes more for a body of which `kept` are reserved; `false` when there is no room. */
  reserve(bytes: number, kept: number): boolean {
    const large = beyondOrdinary(kept + bytes) - beyondOrdinary(kept)
    if (!this.large.reserve(large)) return false
    if (this.all.reserve(bytes)) return true
    this.large.free(large)
    return false
  }

  /** Frees so many bytes of a body of which `kept` are reserved. */
  free(bytes: number, kept: number): void {
    this.all.free(bytes)
    this.large.free(beyondOrdinary(kept) - beyondOrdinary(kept - bytes))
  }
}

const beyondOrdinary = (bytes: number): number => Math.max(bytes - ORDINARY, 0)
