import type { KeptKeys, Note } from './kept-keys.js'
import type { PassphraseKeys } from './passphrase-keys.js'
import { closed, opened, type SealedValue, sealed } from './sealed-value.js'

interface Keys {
  readonly passphrase: PassphraseKeys | undefined
  readonly kept: KeptKeys
  /** Whether new values may be encrypted with a kept key. */
  readonly useKept: boolean
}

/** Encrypts with the passphrase where one is given, else with a kept key where there is one; opens what either closed. */
export class Seal {
  constructor(private readonly keys: Keys) {}

  /** Nothing where there is nothing to encrypt with. */
  async close(value: string, place: string, note: Note): Promise<SealedValue | undefined> {
    const { passphrase, kept, useKept } = this.keys
    const key = passphrase?.newest() ?? (useKept ? await kept.newest(note) : undefined)
    return key === undefined ? undefined : closed(key, value, place)
  }

  async open(value: SealedValue, place: string): Promise<string> {
    const bytes = 'kept' in value ? await this.keys.kept.of(value.kept) : this.ofPassphrase(value.salt)
    try {
      return opened(bytes, value, place)
    } catch {
      throw sealed(
        'the key does not fit, or a file was changed',
        'give the key that they were encrypted with',
      )
    }
  }

  private ofPassphrase(salt: string): Buffer {
    const { passphrase } = this.keys
    if (passphrase !== undefined) return passphrase.of(salt)
    throw sealed('they are encrypted with a passphrase', 'give it in SALLYPORT_STATE_PASSPHRASE')
  }
}
