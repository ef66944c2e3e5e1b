import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { GatewayError } from 'sallyport'
import { z } from 'zod'

const parts = { iv: z.string(), tag: z.string(), data: z.string() }

/** An encrypted value, as it stands in a file: by a passphrase with this salt, or by the kept key of this name. */
export const SealedValue = z.union([
  z.object({ salt: z.string(), ...parts }),
  z.object({ kept: z.string(), ...parts }),
])

export type SealedValue = z.output<typeof SealedValue>

/** A key, and what tells later which it was. */
export interface SealingKey {
  readonly mark: { readonly salt: string } | { readonly kept: string }
  readonly bytes: Buffer
}

/** Bound to its place: a value that is put under another key of the store does not open there. */
export function closed({ mark, bytes }: SealingKey, value: string, place: string): SealedValue {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', bytes, iv).setAAD(Buffer.from(place))
  const data = Buffer.concat([cipher.update(value), cipher.final()])
  return { ...mark, iv: text(iv), tag: text(cipher.getAuthTag()), data: text(data) }
}

/** Throws when it is another key, or the value or its place was changed. */
export function opened(bytes: Buffer, { iv, tag, data }: SealedValue, place: string): string {
  // The length is fixed here: a shorter tag is easier to forge.
  const decipher = createDecipheriv('aes-256-gcm', bytes, binary(iv), { authTagLength: 16 })
  decipher.setAuthTag(binary(tag)).setAAD(Buffer.from(place))
  return Buffer.concat([decipher.update(binary(data)), decipher.final()]).toString()
}

/** Nothing is lost, and nothing may take its place: whoever has the key can come back with it. */
export const sealed = (reason: string, todo: string): GatewayError =>
  new GatewayError(
    'STATE_SEALED',
    `the kept logins cannot be read: ${reason}; ${todo}, or forget them with \`sallyport auth logout all\` and sign in again`,
  )

/** Somebody who has no key may have put it there; nothing is lost by asking the person who knows. */
export const plain = (): GatewayError =>
  new GatewayError(
    'STATE_PLAIN',
    `a kept login is not encrypted, and whoever can write the directory may have planted it: if it was kept before there was a key, \`sallyport auth seal\` encrypts it; else forget all with \`sallyport auth logout all\` and sign in again`,
  )

const text = (bytes: Buffer): string => bytes.toString('base64')
export const binary = (base64: string): Buffer => Buffer.from(base64, 'base64')
