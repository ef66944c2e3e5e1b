import { type Family, familiesIn, labelled } from './exposition.js'

export interface ProcessMetrics {
  readonly process: number
  /** Which list of that process: each starts its counters from zero. */
  readonly boot: number
  /** Undefined for metrics of the primary. */
  readonly worker?: number
  readonly text: string
}

const SUMMED = new Set(['counter', 'histogram'])

/**
 * The metrics of all workers as those of one gateway. Counters and histograms are summed, including those of workers
 * and lists that are gone: a total that fell with the end of a process would look like a restart. A gauge describes
 * one process, so each worker's is kept, with a label.
 */
export class MetricsMerge {
  private readonly totals = new Map<string, Family & { readonly sums: Map<string, number> }>()
  private readonly seen = new Map<number, Map<number, Map<string, number>>>()

  /** Adds what was counted since the last metrics of the same list. */
  add({ process, boot, text }: ProcessMetrics): void {
    const boots = this.seen.get(process) ?? new Map<number, Map<string, number>>()
    const before = boots.get(boot) ?? new Map<string, number>()
    this.seen.set(process, boots.set(boot, before))
    for (const family of familiesIn(text).values()) {
      if (!SUMMED.has(family.kind)) continue
      const { sums } = this.total(family)
      for (const [sample, value] of family.samples) {
        sums.set(sample, (sums.get(sample) ?? 0) + Number(value) - (before.get(sample) ?? 0))
        before.set(sample, Number(value))
      }
    }
  }

  /** The process has exited; what it counted stays in the totals. */
  forget(process: number): void {
    this.seen.delete(process)
  }

  text(all: readonly ProcessMetrics[]): string {
    for (const each of all) this.add(each)
    const lines = [...this.totals.values()].flatMap(({ head, sums }) => [
      ...head,
      ...[...sums].map(([sample, value]) => `${sample} ${value}`),
    ])
    return `${[...lines, ...gauges(all)].join('\n')}\n`
  }

  private total(family: Family) {
    const known = this.totals.get(family.name)
    if (known !== undefined) return known
    const total = { ...family, sums: new Map<string, number>() }
    this.totals.set(family.name, total)
    return total
  }
}

function gauges(all: readonly ProcessMetrics[]): string[] {
  const families = new Map<string, string[]>()
  for (const { worker, text } of all) {
    for (const { name, kind, head, samples } of familiesIn(text).values()) {
      if (SUMMED.has(kind)) continue
      const lines = families.get(name) ?? [...head]
      families.set(name, lines)
      for (const [sample, value] of samples) {
        lines.push(`${worker === undefined ? sample : labelled(sample, worker)} ${value}`)
      }
    }
  }
  return [...families.values()].flat()
}
