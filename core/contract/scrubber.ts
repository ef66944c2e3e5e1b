/** Keeps secrets out of the log. Code that opens a secret adds it. */
export interface Scrubber {
  /** From now on `value` is in no line of the log, in any encoding. The returned function undoes this. */
  add(value: string): () => void
  /** Whether this is, as a whole, a secret that was added. */
  knows(value: string): boolean
}
