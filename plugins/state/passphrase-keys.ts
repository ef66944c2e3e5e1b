import { randomBytes, scryptSync } from 'node:crypto'
import type { Secret } from 'sallyport'
import { binary, type SealingKey } from './sealed-value.js'

// 32 MiB and a tenth of a second for each guess; derived once for each salt that is met.
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** Keys that come from a passphrase. */
export class PassphraseKeys {
  private readonly known = new Map<string, Buffer>()
  private readonly salt = randomBytes(16).toString('base64')

  constructor(private readonly passphrase: Secret) {}

  newest(): SealingKey {
    return { mark: { salt: this.salt }, bytes: this.of(this.salt) }
  }

  of(salt: string): Buffer {
    const known = this.known.get(salt)
    if (known !== undefined) return known
    const key = scryptSync(this.passphrase.reveal(), binary(salt), 32, COST)
    // Salts come from files: a few processes write them, and no more are remembered than that.
    if (this.known.size >= 64) this.known.clear()
    this.known.set(salt, key)
    return key
  }

  /** Lets go of the file that the passphrase came from. */
  release(): void {
    this.passphrase.close()
  }
}
