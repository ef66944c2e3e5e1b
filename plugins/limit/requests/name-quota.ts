/** Of all callers together: some 20 MB. */
const MOST_NAMES = 100_000

/**
 * Limits how many names each caller may introduce in a span: callers make names up, and of too many the oldest would be
 * forgotten, counts and all. A name that is known costs nobody anything. It counts in this process alone.
 */
export class NameQuota {
  /** When each ends to be known, in that order. */
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
    this.forget()
    return true
  }

  private forget(): void {
    const { known, introduced } = this
    if (known.size <= MOST_NAMES) return
    // Many at once: a map finds its oldest by stepping over all that were deleted before.
    const least = MOST_NAMES - MOST_NAMES / 100
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
