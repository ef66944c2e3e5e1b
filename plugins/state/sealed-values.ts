import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { ConfigError, type Gateway, GatewayError } from 'sallyport'
import { jsonObject, type Secret, secretFrom, secretText } from 'sallyport/toolkit'
import { z } from 'zod'

/** The passphrase of a shared store, as options of the plugin. */
export const sharedKeyOptions = {
  passphrase: secretText()
    .optional()
    .describe(
      'encrypts the values; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment; one of them is required, and all processes need the same',
    ),
  passphraseFile: z.string().min(1).optional().describe('file that holds the passphrase'),
}

/**
 * Encrypts values that are stored outside this machine. The key is derived from a passphrase that all processes share:
 * a key in one machine's keyring would lock the others out.
 */
export class SealedValues {
  private constructor(private readonly keys: PassphraseKeys) {}

  /** Throws without a passphrase. Closes when the gateway stops. */
  static open(gateway: Gateway, options: Parameters<typeof openPassphrase>[1]): SealedValues {
    const keys = openPassphrase(gateway, options)
    if (keys === undefined) {
      const message =
        'missing: what is stored there must be encrypted with a key that all processes share; set SALLYPORT_STATE_PASSPHRASE, `passphraseFile` or `passphrase` to the same text for each of them'
      throw new ConfigError([{ place: 'passphrase', message }])
    }
    return new SealedValues(keys)
  }

  /** Binds a value to its key: a value that is copied to another key cannot be decrypted. */
  seal(stateKey: string, value: string): string {
    return JSON.stringify(encrypt(this.keys.latest(), value, stateKey))
  }

  /** Throws with another passphrase, or when the value or its key was changed. */
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

// An attacker needs 32 MiB and a tenth of a second for each guess; the gateway derives the key once for each salt.
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

const parts = { iv: z.string(), tag: z.string(), data: z.string() }

/** An encrypted value in a file: with a passphrase and this salt, or with the stored key of this name. */
export const EncryptedValue = z.union([
  z.object({ salt: z.string(), ...parts }),
  z.object({ kept: z.string(), ...parts }),
])

export type EncryptedValue = z.output<typeof EncryptedValue>

/** A key with its identifier, which is stored with the values. */
export interface EncryptionKey {
  readonly id: { readonly salt: string } | { readonly kept: string }
  readonly bytes: Buffer
}

/** Binds a value to its key in the store: a value that is copied to another key cannot be decrypted. */
export function encrypt({ id, bytes }: EncryptionKey, value: string, stateKey: string): EncryptedValue {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', bytes, iv).setAAD(Buffer.from(stateKey))
  const data = Buffer.concat([cipher.update(value), cipher.final()])
  return { ...id, iv: text(iv), tag: text(cipher.getAuthTag()), data: text(data) }
}

/** Throws with a wrong key, or when the value or its key in the store was changed. */
export function decrypt(bytes: Buffer, { iv, tag, data }: EncryptedValue, stateKey: string): string {
  // The length is fixed here: a shorter tag is easier to forge.
  const decipher = createDecipheriv('aes-256-gcm', bytes, binary(iv), { authTagLength: 16 })
  decipher.setAuthTag(binary(tag)).setAAD(Buffer.from(stateKey))
  return Buffer.concat([decipher.update(binary(data)), decipher.final()]).toString()
}

/** Values without an available key are not lost and must not be overwritten: the key may become available again. */
export const cannotDecrypt = (reason: string, todo: string): GatewayError =>
  new GatewayError(
    'STATE_SEALED',
    `the stored logins cannot be decrypted: ${reason}; ${todo}, or delete them with \`sallyport auth logout all\` and sign in again`,
  )

/** Any program that can write the directory may have planted the value; only the user knows. */
export const notEncrypted = (): GatewayError =>
  new GatewayError(
    'STATE_PLAIN',
    `a stored login is not encrypted, and anybody who can write the directory may have planted it: if it was stored before there was a key, \`sallyport auth seal\` encrypts it; else delete all with \`sallyport auth logout all\` and sign in again`,
  )

const text = (bytes: Buffer): string => bytes.toString('base64')
export const binary = (base64: string): Buffer => Buffer.from(base64, 'base64')
