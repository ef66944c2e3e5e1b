interface Remembered<T> {
  readonly value: T
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Asked for since it last came to the end of the line. */
  used: boolean
}

/**
 * Values that end at a time of their own, in a bounded room, answered at once. A full room forgets the one longest
 * there that nobody asked for meanwhile: nothing moves when a value is read. What stands for a secret has its hash
 * as the key.
 */
export class ExpiringMap<T> {
  private readonly held = new Map<string, Remembered<T>>()

  constructor(private readonly room: number) {}

  get(key: string): T | undefined {
    const found = this.held.get(key)
    if (found === undefined) return undefined
    if (found.until <= Date.now()) {
      this.held.delete(key)
      return undefined
    }
    found.used = true
    return found.value
  }

  /** `until` is in milliseconds since the epoch. */
  set(key: string, value: T, until: number): void {
    this.held.delete(key)
    // Who was asked for goes to the back of the line, once: the second time round it counts as unused.
    for (const [oldest, one] of this.held) {
      if (this.held.size < this.room) break
      this.held.delete(oldest)
      if (!one.used || one.until <= Date.now()) continue
      one.used = false
      this.held.set(oldest, one)
    }
    this.held.set(key, { value, until, used: false })
  }

  delete(key: string): void {
    this.held.delete(key)
  }

  clear(): void {
    this.held.clear()
  }
}
