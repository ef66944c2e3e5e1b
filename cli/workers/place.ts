import cluster from 'node:cluster'
import { Hand } from './hand.js'
import type { Handover } from './handover.js'
import { markOf } from './mark.js'
import type { ToPrimary } from './messages.js'

// Who was ready for so long has died of something else than its start.
const STEADY = 60_000
// Deaths in a row of workers that were not even ready, and of workers of which none lasted so long.
const MOST_EARLY = 3
const MOST_DEATHS = 5
const FIRST_PAUSE = 250
const LONGEST_PAUSE = 30_000

/** Where one worker is, and after its death the next: it keeps the number. */
export class Place {
  hand: Hand | undefined
  private early = 0
  private deaths = 0
  private readySince = 0

  constructor(
    readonly number: number,
    private readonly handover: Handover,
  ) {}

  fill(hear: (hand: Hand, message: ToPrimary) => void): Hand {
    const worker = cluster.fork(markOf(this.number))
    this.handover.watch(worker)
    const hand: Hand = new Hand(this.number, worker, (message) => hear(hand, message))
    this.hand = hand
    return hand
  }

  ready(): void {
    this.early = 0
    this.readySince = Date.now()
  }

  /** The worker left as it was told. */
  leave(): void {
    this.hand = undefined
  }

  /** The worker died. Answers how many milliseconds the place stays empty: longer each time, so that a loop costs little. */
  empty(wasReady: boolean): number {
    this.hand = undefined
    if (!wasReady) this.early++
    else if (Date.now() - this.readySince > STEADY) this.deaths = 0
    const pause = this.deaths === 0 ? 0 : FIRST_PAUSE * 2 ** (this.deaths - 1)
    this.deaths++
    return Math.min(pause, LONGEST_PAUSE)
  }

  /** What says that the next worker here will die as well. */
  get hopeless(): string | undefined {
    if (this.early >= MOST_EARLY) return `ended ${MOST_EARLY} times in a row before it was ready`
    if (this.deaths < MOST_DEATHS) return undefined
    return `ended ${this.deaths} times in a row less than ${STEADY / 1000} s after it was ready`
  }
}
