import { hash } from 'node:crypto'

/** Half a SHA-256 as a string of one character a byte: enough to tell versions apart, and there are many. */
export type Digest = string

export const DIGEST_SIZE = 16

// Copied through a buffer, because a substring keeps the whole string in memory.
const scratch = Buffer.alloc(32)

export function digestOf(bytes: Uint8Array): Digest {
  scratch.write(hash('sha256', bytes, 'binary'), 'latin1')
  return scratch.toString('latin1', 0, DIGEST_SIZE)
}
