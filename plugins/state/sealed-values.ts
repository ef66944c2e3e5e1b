import { ConfigError, type Gateway } from 'sallyport'
import { jsonObject, secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { cannotDecrypt, decrypt, EncryptedValue, encrypt } from './encrypted-value.js'
import { openPassphrase, type PassphraseKeys } from './passphrase-keys.js'

/** Where the key of a shared store comes from, as options of the plugin. */
export const sharedKeyOptions = {
  passphrase: secretText()
    .optional()
    .describe(
      'encrypts the values; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment; one of them is required, and all processes need the same',
    ),
  passphraseFile: z.string().min(1).optional().describe('file that holds the passphrase'),
}

/**
 * Encrypts what is stored outside this machine, so that it can be read by nobody who reads it there. The key is of a
 * passphrase that all processes share: a key of one machine's keyring would lock the others out.
 */
export class SealedValues {
  private constructor(private readonly keys: PassphraseKeys) {}

  /** Throws when there is no passphrase. It is closed when the gateway stops. */
  static open(gateway: Gateway, options: Parameters<typeof openPassphrase>[1]): SealedValues {
    const keys = openPassphrase(gateway, options)
    if (keys === undefined) {
      const message =
        'missing: what is stored there must be encrypted with a key that all processes share; set SALLYPORT_STATE_PASSPHRASE, `passphraseFile` or `passphrase` to the same text for each of them'
      throw new ConfigError([{ place: 'passphrase', message }])
    }
    return new SealedValues(keys)
  }

  /** Bound to its key: a value that is copied to another one cannot be opened. */
  seal(stateKey: string, value: string): string {
    return JSON.stringify(encrypt(this.keys.latest(), value, stateKey))
  }

  /** Throws with another passphrase, and when the value or its key was changed. */
  open(stateKey: string, sealed: string): string {
    const { data } = EncryptedValue.safeParse(jsonObject(sealed))
    if (data === undefined || 'kept' in data)
      throw cannotDecrypt('one was not written with a passphrase', 'find out who wrote it')
    try {
      return decrypt(this.keys.get(data.salt), data, stateKey)
    } catch {
      throw cannotDecrypt(
        'the passphrase does not fit, or a value was changed',
        'give all processes the passphrase that they were encrypted with',
      )
    }
  }
}
