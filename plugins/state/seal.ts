import type { KeptKeys, Note } from './kept-keys.js'
import type { PassphraseKeys } from './passphrase-keys.js'
import { closed, opened, type SealedValue, type SealingKey, sealed } from './sealed-value.js'

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
    const key = await this.key(note)
    return key === undefined ? undefined : closed(key, value, place)
  }

  /** The key for new values. Nothing where there is none; it throws where others are encrypted and this one is not to be. */
  async key(note: Note): Promise<SealingKey | undefined> {
    const { passphrase, kept, useKept } = this.keys
    const key = passphrase?.newest() ?? (useKept ? await kept.newest(note) : undefined)
    if (key === undefined && useKept && (await note.inUse())) {
      throw sealed('others beside them are encrypted', 'give the passphrase, or the keyring with their key')
    }
    return key
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
