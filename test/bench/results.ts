/** The results of a run, as `--json` prints them. */
export interface Results {
  readonly command: string
  /** Commands that have measured some rows again since. */
  readonly renewed?: readonly string[]
  readonly node: string
  readonly cpu: string
  readonly cores: number
  readonly pinned: boolean
  /** The load of the machine before the run began. */
  readonly busy: number
  /** Contestants that are not installed, and how to get them. */
  readonly missing: readonly string[]
  readonly calls: readonly CallResult[]
  readonly figures: readonly Figure[]
  readonly reach: readonly GoalResult[]
}

export interface CallResult {
  readonly row: string
  readonly title: string
  readonly name: string
  /** Microseconds of processor time for a call, for each round. */
  readonly cpu: readonly number[]
  readonly perSecond: number
  /** Milliseconds at full load. */
  readonly p50: number
  readonly p99: number
  /** At half load: every contestant gets half of the rate that Sallyport carries. */
  readonly atHalf?: { readonly rate: number; readonly p50: number; readonly p99: number }
  /** Bytes of memory at the end of the row. */
  readonly memory: number
}

/** One number. */
export interface Figure {
  readonly row: string
  readonly title: string
  readonly name: string
  readonly value: number
  readonly unit: 'µs' | 'ms' | 'KB' | 'MB' | 'times' | 'calls/s'
}

export interface GoalResult {
  readonly what: string
  readonly value: number
  readonly target: number
  readonly unit: Figure['unit']
  readonly held: boolean
}
