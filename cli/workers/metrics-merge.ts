import { type Family, familiesIn, labelled } from './exposition.js'

/** Whose numbers these are. */
export interface Told {
  readonly process: number
  /** Which list of that process: another one counts from nothing. */
  readonly boot: number
  /** None for what is of the gateway as a whole. */
  readonly worker?: number
  readonly text: string
}

// A total that took in another process's would fall when that ends, and whoever reads it take that for a new start.
const ADDED = new Set(['counter', 'histogram'])

/**
 * The metrics of all workers as those of one gateway. Counters and histograms are added up, those of workers and lists
 * that are gone too; a gauge tells of one process, so each worker's stands by itself.
 */
export class Tally {
  private readonly totals = new Map<string, Family & { readonly sums: Map<string, number> }>()
  private readonly seen = new Map<number, Map<number, Map<string, number>>>()

  /** Adds what was counted since the same list told before. */
  take({ process, boot, text }: Told): void {
    const boots = this.seen.get(process) ?? new Map<number, Map<string, number>>()
    const before = boots.get(boot) ?? new Map<string, number>()
    this.seen.set(process, boots.set(boot, before))
    for (const family of familiesIn(text).values()) {
      if (!ADDED.has(family.kind)) continue
      const { sums } = this.total(family)
      for (const [sample, value] of family.samples) {
        sums.set(sample, (sums.get(sample) ?? 0) + Number(value) - (before.get(sample) ?? 0))
        before.set(sample, Number(value))
      }
    }
  }

  /** That process is gone; what it counted stays. */
  forget(process: number): void {
    this.seen.delete(process)
  }

  text(told: readonly Told[]): string {
    for (const each of told) this.take(each)
    const lines = [...this.totals.values()].flatMap(({ head, sums }) => [
      ...head,
      ...[...sums].map(([sample, value]) => `${sample} ${value}`),
    ])
    return `${[...lines, ...gauges(told)].join('\n')}\n`
  }

  private total(family: Family) {
    const known = this.totals.get(family.name)
    if (known !== undefined) return known
    const total = { ...family, sums: new Map<string, number>() }
    this.totals.set(family.name, total)
    return total
  }
}

function gauges(told: readonly Told[]): string[] {
  const families = new Map<string, string[]>()
  for (const { worker, text } of told) {
    for (const { name, kind, head, samples } of familiesIn(text).values()) {
      if (ADDED.has(kind)) continue
      const lines = families.get(name) ?? [...head]
      families.set(name, lines)
      for (const [sample, value] of samples) {
        lines.push(`${worker === undefined ? sample : labelled(sample, worker)} ${value}`)
      }
    }
  }
  return [...families.values()].flat()
}
