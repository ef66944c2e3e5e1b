import { readdirSync } from 'node:fs'
import { memory } from '../bench/process-tree.js'
import { growth, type Sample } from './growth.js'
import { collectGarbage } from './inspector.js'
import type { Served } from './stage.js'
import type { Tally } from './tally.js'

/** Milliseconds between samples. */
const EVERY = 5_000

/** The watched values, and how much each may grow once the process has warmed up. */
export const limits = {
  memory: { most: 32, unit: 'MB' },
  heap: { most: 8, unit: 'MB' },
  // The number of connections to and from the process: how many are open at a sample is chance.
  handles: { most: 64, unit: '' },
  timers: { most: 10, unit: '' },
} as const

export type Watched = keyof typeof limits

export interface Growth {
  readonly who: string
  readonly what: Watched
  readonly first: number
  readonly last: number
  readonly grew: number
  readonly held: boolean
}

/** Samples a process from outside, and its `/metrics`. */
export class Watch {
  private readonly seen: Readonly<Record<Watched, Sample[]>> = {
    memory: [],
    heap: [],
    handles: [],
    timers: [],
  }
  private timer: NodeJS.Timeout | undefined
  private readonly began = performance.now()

  constructor(
    private readonly served: Served,
    private readonly tally: Tally,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.look(), EVERY)
  }

  stop(): void {
    clearInterval(this.timer)
  }

  get now(): string {
    const last = (what: Watched): string => String(Math.round(this.seen[what].at(-1)?.value ?? Number.NaN))
    return `${this.served.name} ${last('memory')} MB, heap ${last('heap')} MB, ${last('handles')} handles, ${last('timers')} timers`
  }

  /** The growth of each value since so many milliseconds after the start. */
  growthSince(warm: number): Growth[] {
    return Object.entries(limits).map(([name, { most }]) => {
      const what = name as Watched
      const samples = this.seen[what].filter(({ at }) => at >= warm)
      const [first, last] = [samples[0]?.value, samples.at(-1)?.value]
      const grew = growth(samples)
      const { name: who } = this.served
      return { who, what, first: first ?? Number.NaN, last: last ?? Number.NaN, grew, held: grew <= most }
    })
  }

  private async look(): Promise<void> {
    const { pid, internal, inspector, name } = this.served
    const began = Date.now()
    try {
      await collectGarbage(inspector)
      const answer = await fetch(`http://127.0.0.1:${internal}/metrics`, {
        signal: AbortSignal.timeout(5_000),
      })
      const text = await answer.text()
      this.keep('memory', memory(pid) / 1e6)
      this.keep('handles', readdirSync(`/proc/${pid}/fd`).length)
      this.keep('heap', metric(text, 'nodejs_heap_size_used_bytes') / 1e6)
      this.keep('timers', metric(text, 'nodejs_active_resources{type="Timeout"}'))
      this.tally.right('metrics')
    } catch (error) {
      this.tally.failed('metrics', began, `${name}: ${String(error)}`)
    }
  }

  private keep(what: Watched, value: number): void {
    this.seen[what].push({ at: performance.now() - this.began, value })
  }
}

/** A metric without a line is 0: /metrics omits resource types that do not exist. */
function metric(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? 0)
}
