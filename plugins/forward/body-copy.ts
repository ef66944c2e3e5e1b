import { MAX_OBSERVED_BODY } from 'sallyport/toolkit'
import { type BodyBudget, type Keeper, KeptBytes } from './body-budget.js'

/** A copy of a body that is passed on, for who only observes it. It takes room where there is some, and else is given up. */
export class BodyCopy implements Keeper {
  private chunks: Buffer[] | undefined = []
  private readonly kept: KeptBytes

  constructor(
    budget: BodyBudget,
    caller: string | undefined,
    private readonly done: (whole: Buffer | undefined) => void,
  ) {
    this.kept = new KeptBytes(budget, caller, this)
  }

  /** Copies what is written. */
  of(write: (chunk: Buffer) => boolean): (chunk: Buffer) => boolean {
    return (chunk) => {
      this.add(chunk)
      return write(chunk)
    }
  }

  end(): void {
    const { chunks } = this
    this.done(chunks && Buffer.concat(chunks))
    this.discard()
  }

  discard(): void {
    this.chunks = undefined
    this.kept.free()
  }

  giveUp(): void {
    this.discard()
  }

  private add(chunk: Buffer): void {
    if (this.chunks === undefined) return
    const fits = this.kept.size + chunk.length <= MAX_OBSERVED_BODY && this.kept.reserve(chunk.length)
    if (!fits) {
      this.discard()
      return
    }
    this.kept.arrived()
    this.chunks.push(chunk)
  }
}
