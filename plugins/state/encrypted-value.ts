import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { GatewayError } from 'sallyport'
import { z } from 'zod'

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

/** Bound to its key in the store: a value that is copied to another one cannot be decrypted. */
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

/** The values are not lost and must not be overwritten: the key may become available again. */
export const cannotDecrypt = (reason: string, todo: string): GatewayError =>
  new GatewayError(
    'STATE_SEALED',
    `the stored logins cannot be decrypted: ${reason}; ${todo}, or delete them with \`sallyport auth logout all\` and sign in again`,
  )

/** Anybody who can write the directory may have planted it; only the user can tell. */
export const notEncrypted = (): GatewayError =>
  new GatewayError(
    'STATE_PLAIN',
    `a stored login is not encrypted, and anybody who can write the directory may have planted it: if it was stored before there was a key, \`sallyport auth seal\` encrypts it; else delete all with \`sallyport auth logout all\` and sign in again`,
  )

const text = (bytes: Buffer): string => bytes.toString('base64')
export const binary = (base64: string): Buffer => Buffer.from(base64, 'base64')
