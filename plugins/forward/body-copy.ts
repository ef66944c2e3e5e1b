import { MAX_OBSERVED_BODY } from 'sallyport/toolkit'
import type { BodyBudget } from './body-budget.js'

/** A copy of a body that is passed on, for who only observes it. It takes room where there is some, and else is given up. */
export class BodyCopy {
  private chunks: Buffer[] | undefined = []
  private size = 0

  constructor(
    private readonly kept: BodyBudget,
    private readonly done: (whole: Buffer | undefined) => void,
  ) {}

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
    this.kept.free(this.size, this.size)
    this.size = 0
  }

  private add(chunk: Buffer): void {
    if (this.chunks === undefined) return
    const fits = this.size + chunk.length <= MAX_OBSERVED_BODY && this.kept.reserve(chunk.length, this.size)
    if (!fits) {
      this.discard()
      return
    }
    this.size += chunk.length
    this.chunks.push(chunk)
  }
}
