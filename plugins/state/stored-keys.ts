import { randomBytes } from 'node:crypto'
import { GatewayError, type Log, type SecretStore, type SecretWriter } from 'sallyport'
import {
  binary,
  cannotDecrypt,
  decrypt,
  type EncryptedValue,
  type EncryptionKey,
  encrypt,
  type PassphraseKeys,
} from './sealed-values.js'

const BYTES = 32
// Files name their key. Others may know another secret of the store, so no other secret may become a key.
const KEY_NAME = /^state\/[0-9a-f]{16}$/

/** Stores the name of the latest key, so that all processes with the same files use the same one. */
export interface KeyNameStore {
  read(): Promise<string | undefined>
  write(name: string): Promise<void>
  locked<T>(work: () => Promise<T>): Promise<T>
  /** Whether any stored value is encrypted. */
  hasEncrypted(): Promise<boolean>
}

interface KeyStore {
  readonly name: string
  readonly get: SecretStore['get']
  readonly keeping: SecretWriter
}

/** Keys in the first writable secret store of the list, such as the keyring. */
export class StoredKeys {
  private readonly loaded = new Map<string, Buffer>()
  private latestKey: EncryptionKey | undefined
  private unavailable = false

  constructor(
    private readonly stores: () => readonly SecretStore[],
    private readonly log: Pick<Log, 'info'>,
  ) {}

  /** The key for new values, created when there is none; `undefined` without a writable secret store. */
  async latest(keyName: KeyNameStore): Promise<EncryptionKey | undefined> {
    const keyStore = this.keyStore()
    if (keyStore === undefined || this.unavailable) return undefined
    try {
      this.latestKey ??= await keyName.locked(async () => {
        const name = await keyName.read()
        const bytes = name === undefined ? undefined : await this.find(name, keyStore)
        if (name !== undefined && bytes !== undefined) return { id: { kept: name }, bytes }
        return this.create(keyName, keyStore)
      })
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      // Never writes an unencrypted value next to encrypted ones.
      if (await keyName.hasEncrypted())
        throw cannotDecrypt(error.message, `make the ${keyStore.name} available`)
      // Tries once: a locked keyring would request its password from the user with every token.
      this.unavailable = true
      this.log.info(
        { reason: error.message },
        'stored values are not encrypted; only this user may read the files',
      )
    }
    return this.latestKey
  }

  /** Returns the key of that name. Throws when it is not available. */
  async get(name: string): Promise<Buffer> {
    const keyStore = this.keyStore()
    if (keyStore === undefined) {
      throw cannotDecrypt('no secret store of the list has their key', 'add `secrets/keyring` to the list')
    }
    const found = await this.find(name, keyStore).catch((error: unknown) => {
      if (error instanceof GatewayError)
        throw cannotDecrypt(error.message, `make the ${keyStore.name} available`)
      throw error
    })
    if (found === undefined)
      throw cannotDecrypt(`the ${keyStore.name} does not have their key`, 'bring it back')
    return found
  }

  private async create(
    keyName: KeyNameStore,
    { get, keeping }: KeyStore,
  ): Promise<EncryptionKey | undefined> {
    // Always a new name: values encrypted with an earlier key may exist.
    const name = `state/${randomBytes(8).toString('hex')}`
    const text = randomBytes(BYTES).toString('base64')
    await keeping.set(name, text)
    // Reads the key back before use: with a key that was not stored, all values would be lost.
    if ((await get(name)) !== text) return undefined
    await keyName.write(name)
    return { id: { kept: name }, bytes: binary(text) }
  }

  private async find(name: string, { get }: KeyStore): Promise<Buffer | undefined> {
    if (!KEY_NAME.test(name)) return undefined
    const loaded = this.loaded.get(name)
    if (loaded !== undefined) return loaded
    const bytes = binary((await get(name)) ?? '')
    if (bytes.length !== BYTES) return undefined
    this.loaded.set(name, bytes)
    return bytes
  }

  private keyStore(): KeyStore | undefined {
    for (const store of this.stores()) {
      const { name, keeping } = store
      if (keeping !== undefined) return { name, keeping, get: (key) => store.get(key) }
    }
    return undefined
  }
}

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
