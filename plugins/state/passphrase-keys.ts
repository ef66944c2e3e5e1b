import { randomBytes, scryptSync } from 'node:crypto'
import type { Gateway } from 'sallyport'
import { type Secret, secretFrom } from 'sallyport/toolkit'
import { binary, type EncryptionKey } from './encrypted-value.js'

// 32 MiB and a tenth of a second for each guess; derived once for each salt.
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** Keys that are derived from a passphrase. */
export class PassphraseKeys {
  private readonly derived = new Map<string, Buffer>()
  private readonly salt = randomBytes(16).toString('base64')

  constructor(private readonly passphrase: Secret) {}

  latest(): EncryptionKey {
    return { id: { salt: this.salt }, bytes: this.get(this.salt) }
  }

  get(salt: string): Buffer {
    const derived = this.derived.get(salt)
    if (derived !== undefined) return derived
    const key = scryptSync(this.passphrase.reveal(), binary(salt), 32, COST)
    // Salts come from files, so the cache is bounded. Only a few processes write them.
    if (this.derived.size >= 64) this.derived.clear()
    this.derived.set(salt, key)
    return key
  }
}

interface PassphraseOptions {
  readonly passphrase?: string | undefined
  readonly passphraseFile?: string | undefined
}

/** The keys of the passphrase of a list, which is closed when the gateway stops; `undefined` where there is none. */
export function openPassphrase(
  gateway: Gateway,
  { passphrase: value, passphraseFile }: PassphraseOptions,
): PassphraseKeys | undefined {
  const { log, scrubber } = gateway
  const file = gateway.path(passphraseFile)
  const secret = secretFrom({ value, file, env: ['SALLYPORT_STATE_PASSPHRASE'] }, { log, scrubber })
  if (secret === undefined) return undefined
  gateway.onStop(() => secret.close())
  return new PassphraseKeys(secret)
}
