interface Remembered<T> {
  readonly value: T
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * Values that end at a time of their own, in a bounded room, answered at once. A full room forgets the one unused
 * longest. What stands for a secret has its hash as the key.
 */
export class ExpiringMap<T> {
  private readonly held = new Map<string, Remembered<T>>()

  constructor(private readonly room: number) {}

  get(key: string): T | undefined {
    const found = this.held.get(key)
    if (found === undefined) return undefined
    this.held.delete(key)
    if (found.until <= Date.now()) return undefined
    this.held.set(key, found)
    return found.value
  }

  /** `until` is in milliseconds since the epoch. */
  set(key: string, value: T, until: number): void {
    this.held.delete(key)
    for (const oldest of this.held.keys()) {
      if (this.held.size < this.room) break
      this.held.delete(oldest)
    }
    this.held.set(key, { value, until })
  }

  delete(key: string): void {
    this.held.delete(key)
  }

  clear(): void {
    this.held.clear()
  }
}
