import { many } from '../capability.js'

/**
 * Work that a list is there for beside answering who comes in, such as a conversation on standard input. When
 * all errands of a list are over the gateway stops, as if it had been asked to; one that fails stops it too.
 */
export interface Errand {
  /** Settles when nothing is left to do. */
  readonly over: Promise<void>
  /** The gateway was asked to stop, perhaps twice: take up nothing new, and be over soon. */
  end(): void
}

export const Errand = many<Errand>('errand')
