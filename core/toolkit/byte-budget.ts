/** Limits the bytes that the gateway keeps at one time, of all bodies or all responses together. */
export class ByteBudget {
  private reserved = 0

  constructor(private readonly limit: number) {}

  /** Reserves bytes until `free`; returns `false` when the budget has no room. */
  reserve(bytes: number): boolean {
    if (this.reserved + bytes > this.limit) return false
    this.reserved += bytes
    return true
  }

  free(bytes: number): void {
    this.reserved -= bytes
  }
}
