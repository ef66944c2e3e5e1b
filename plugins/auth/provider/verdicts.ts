import type { Verdict } from 'sallyport'

interface Remembered {
  readonly verdict: Verdict
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Verdicts by the hash of their token, so that no token is a key. A full room forgets the one unused longest. */
export class RememberedVerdicts {
  private readonly verdicts = new Map<string, Remembered>()

  constructor(private readonly room: number) {}

  get(hash: string): Verdict | undefined {
    const found = this.verdicts.get(hash)
    if (found === undefined) return undefined
    this.verdicts.delete(hash)
    if (found.until <= Date.now()) return undefined
    this.verdicts.set(hash, found)
    return found.verdict
  }

  set(hash: string, verdict: Verdict, until: number): void {
    this.verdicts.delete(hash)
    for (const oldest of this.verdicts.keys()) {
      if (this.verdicts.size < this.room) break
      this.verdicts.delete(oldest)
    }
    this.verdicts.set(hash, { verdict, until })
  }

  clear(): void {
    this.verdicts.clear()
  }
}
