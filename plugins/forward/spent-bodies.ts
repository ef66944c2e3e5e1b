import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// A collection of young objects takes a millisecond: one for so many bytes is a few microseconds for 64 KB of them.
const MOST = 12 * 1024 ** 2

type Collect = (what: { type: 'minor' }) => void

/**
 * Is told of every piece of a body that goes through, and has them freed in time. Their bytes are outside V8's heap:
 * it would let 32 MB of them gather, or 128 MB since V8 13, and by then count them as old objects and collect the
 * whole heap again and again, for nothing.
 */
export class SpentBodies {
  private bytes = 0
  private collect: Collect | undefined

  add({ length }: Buffer): void {
    this.bytes += length
    if (this.bytes < MOST) return
    this.bytes = 0
    this.collect ??= collector()
    this.collect({ type: 'minor' })
  }
}

/** V8 gives this function only to contexts that are made while the flag stands; without it bodies are freed later. */
function collector(): Collect {
  setFlagsFromString('--expose-gc')
  try {
    return runInNewContext('globalThis.gc') ?? (() => {})
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
