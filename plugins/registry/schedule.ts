import { LONGEST_WAIT } from 'sallyport'
import type { SourceSync } from './source-sync.js'

const FIRST_RETRY = 1_000
const LONGEST_RETRY = 300_000

/**
 * Syncs a source when its time has come, when it says that it changed, and soon again after a failure: later
 * each time, never at the same moment as other gateways, and not before the source said it wants to be asked.
 */
export class Schedule {
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #unwatch: (() => void) | undefined

  constructor(
    readonly sync: SourceSync,
    private readonly signal: AbortSignal,
  ) {}

  /** Brings back what was kept, then syncs for the first time. It settles when there is something to serve, or a failure. */
  async start(): Promise<void> {
    const inherited = await this.sync.inherit()
    if (!inherited) await this.sync.restore()
    this.#unwatch = this.sync.source.watch?.(() => void this.run())
    const first = this.run()
    // With something to serve at hand nobody has to wait for the network; but whoever asked for a reload expects news.
    if (inherited || !this.sync.loaded) await first
  }

  async run(): Promise<void> {
    const result = await this.sync.sync()
    this.#failures = result.outcome === 'failed' ? this.#failures + 1 : 0
    const asked = result.outcome === 'failed' ? (result.retryAfter ?? 0) * 1_000 : 0
    this.plan(Math.max(this.pause(), asked))
  }

  stop(): void {
    this.#unwatch?.()
    clearTimeout(this.#timer)
  }

  private pause(): number {
    const { every = Number.POSITIVE_INFINITY } = this.sync.source
    if (this.#failures === 0) return every * jitter()
    const backOff = Math.min(FIRST_RETRY * 2 ** (this.#failures - 1), LONGEST_RETRY)
    return Math.min(backOff, every) * jitter()
  }

  private plan(milliseconds: number): void {
    clearTimeout(this.#timer)
    if (this.signal.aborted || milliseconds === Number.POSITIVE_INFINITY) return
    // A timer takes 31 bits, and one that is longer runs at once.
    this.#timer = setTimeout(() => void this.run(), Math.min(milliseconds, LONGEST_WAIT))
    this.#timer.unref()
  }
}

const jitter = (): number => 0.9 + Math.random() * 0.2
