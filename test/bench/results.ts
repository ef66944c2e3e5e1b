/** All that a run found out, as `--json` prints it. */
export interface Results {
  readonly command: string
  /** Commands that have measured some rows anew since. */
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
  readonly reach: readonly Reached[]
}

export interface CallResult {
  readonly row: string
  readonly title: string
  readonly name: string
  /** Microseconds of processor time for a call, round by round. */
  readonly cpu: readonly number[]
  readonly perSecond: number
  /** Milliseconds, with as many calls as are answered. */
  readonly p50: number
  readonly p99: number
  /** The same at one rate for everyone in the row: half of what Sallyport carries. */
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

export interface Reached {
  readonly what: string
  readonly value: number
  readonly target: number
  readonly unit: Figure['unit']
  readonly held: boolean
}
