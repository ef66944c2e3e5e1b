/** For all callers together: some 20 MB. */
const MAX_NAMES = 100_000

/**
 * Limits how many names of tools each caller may introduce in a span. Otherwise a caller could make names up until the
 * oldest names and their counts are evicted. A known name uses no quota. The quota counts in this process alone.
 */
export class NameQuota {
  /** When each name expires, in that order. */
  private readonly known = new Map<string, number>()
  private readonly introduced = new Map<string, { count: number; readonly ends: number }>()

  constructor(
    private readonly milliseconds: number,
    private readonly most: number,
    private readonly now = (): number => performance.now(),
  ) {}

  /** Whether this caller may use the name. */
  admits(caller: string, name: string): boolean {
    const now = this.now()
    if ((this.known.get(name) ?? 0) > now) return true
    let own = this.introduced.get(caller)
    if (own === undefined || own.ends <= now) {
      own = { count: 0, ends: now + this.milliseconds }
      this.introduced.delete(caller)
      this.introduced.set(caller, own)
    }
    if (own.count >= this.most) return false
    own.count++
    this.known.delete(name)
    this.known.set(name, now + this.milliseconds)
    this.evict()
    return true
  }

  private evict(): void {
    const { known, introduced } = this
    if (known.size <= MAX_NAMES) return
    // One percent at once: a map finds its oldest key by stepping over all deleted ones.
    const least = MAX_NAMES - MAX_NAMES / 100
    for (const name of known.keys()) {
      if (known.size <= least) break
      known.delete(name)
    }
    for (const caller of introduced.keys()) {
      if (introduced.size <= least) break
      introduced.delete(caller)
    }
  }
}
