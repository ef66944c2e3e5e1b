/** Limits the bytes that are kept at one time, of all bodies, or of all responses, together. */
export class ByteBudget {
  private reserved = 0

  constructor(private readonly limit: number) {}

  /** Reserves that many bytes until they are freed; `false` when there is no room. */
  reserve(bytes: number): boolean {
    if (this.reserved + bytes > this.limit) return false
    this.reserved += bytes
    return true
  }

  free(bytes: number): void {
    this.reserved -= bytes
  }
}
