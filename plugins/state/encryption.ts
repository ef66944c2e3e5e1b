import {
  cannotDecrypt,
  decrypt,
  type EncryptedValue,
  type EncryptionKey,
  encrypt,
} from './encrypted-value.js'
import type { PassphraseKeys } from './passphrase-keys.js'
import type { KeyNameStore, StoredKeys } from './stored-keys.js'

interface Keys {
  readonly passphrase: PassphraseKeys | undefined
  readonly stored: StoredKeys
  /** Whether new values may be encrypted with a stored key. */
  readonly useStored: boolean
}

/** Encrypts with the passphrase if there is one, else with a stored key if there is one; decrypts values of both. */
export class Encryption {
  constructor(private readonly keys: Keys) {}

  /** `undefined` where there is no key. */
  async encrypt(value: string, stateKey: string, keyName: KeyNameStore): Promise<EncryptedValue | undefined> {
    const key = await this.key(keyName)
    return key === undefined ? undefined : encrypt(key, value, stateKey)
  }

  /** The key for new values; `undefined` where there is none. Throws when others are encrypted and there is no key. */
  async key(keyName: KeyNameStore): Promise<EncryptionKey | undefined> {
    const { passphrase, stored, useStored } = this.keys
    const key = passphrase?.latest() ?? (useStored ? await stored.latest(keyName) : undefined)
    if (key === undefined && useStored && (await keyName.hasEncrypted())) {
      throw cannotDecrypt(
        'other stored values are encrypted',
        'give the passphrase, or the keyring with their key',
      )
    }
    return key
  }

  async decrypt(value: EncryptedValue, stateKey: string): Promise<string> {
    const bytes = 'kept' in value ? await this.keys.stored.get(value.kept) : this.passphraseKey(value.salt)
    try {
      return decrypt(bytes, value, stateKey)
    } catch {
      throw cannotDecrypt(
        'the key does not fit, or a file was changed',
        'give the key that they were encrypted with',
      )
    }
  }

  private passphraseKey(salt: string): Buffer {
    const { passphrase } = this.keys
    if (passphrase !== undefined) return passphrase.get(salt)
    throw cannotDecrypt('they are encrypted with a passphrase', 'give it in SALLYPORT_STATE_PASSPHRASE')
  }
}
