import { hash } from 'node:crypto'

/** As a text of one character a byte, half a SHA-256: enough to tell versions apart, and there are many. */
export type Digest = string

export const DIGEST_SIZE = 16

// Written down and read again, because a part of a text keeps all of it in memory.
const scratch = Buffer.alloc(32)

export function digestOf(bytes: Uint8Array): Digest {
  scratch.write(hash('sha256', bytes, 'binary'), 'latin1')
  return scratch.toString('latin1', 0, DIGEST_SIZE)
}
