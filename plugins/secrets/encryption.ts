import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { GatewayError } from 'sallyport'
import { z } from 'zod'

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
)

// scrypt: an attacker needs 128 MiB and some tenths of a second for each guess.
const COST = 2 ** 17
const BLOCK_SIZE = 8
const KEY_BYTES = 32
const IV_BYTES = 12

/** The content of the file. The names of secrets are encrypted too, as they often show which services are used. */
const envelope = z.strictObject({
  format: z.literal('sallyport-secrets-1'),
  // Bounded: reading a planted file must not use any amount of memory.
  cost: z
    .int()
    .min(2)
    .max(2 ** 20),
  salt: z.string(),
  iv: z.string(),
  tag: z.string(),
  data: z.string(),
})

const secrets = z.record(z.string(), z.string())

/** Encrypts under a fresh key each time: AES-GCM breaks when one key meets the same IV twice. */
export async function encrypt(values: Readonly<Record<string, string>>, passphrase: string): Promise<string> {
  const salt = randomBytes(16)
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', await keyFrom(passphrase, salt, COST), iv)
  const data = Buffer.concat([cipher.update(JSON.stringify(values)), cipher.final()])
  const encrypted: z.infer<typeof envelope> = {
    format: 'sallyport-secrets-1',
    cost: COST,
    salt: salt.toString('base64'),
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    data: data.toString('base64'),
  }
  return `${JSON.stringify(encrypted, undefined, 2)}\n`
}

export async function decrypt(text: string, passphrase: string): Promise<Record<string, string>> {
  const { cost, salt, iv, tag, data } = parseEnvelope(text)
  const key = await keyFrom(passphrase, bytes(salt), cost)
  try {
    // The length is fixed here: a shorter tag is easier to forge.
    const decipher = createDecipheriv('aes-256-gcm', key, bytes(iv), { authTagLength: 16 })
    decipher.setAuthTag(bytes(tag))
    const plain = Buffer.concat([decipher.update(bytes(data)), decipher.final()])
    return secrets.parse(JSON.parse(plain.toString()))
  } catch {
    throw new GatewayError('SECRETS_SEALED', 'the passphrase is wrong, or the file was changed')
  }
}

function parseEnvelope(text: string): z.infer<typeof envelope> {
  try {
    return envelope.parse(JSON.parse(text))
  } catch {
    throw new GatewayError('SECRETS_BROKEN', 'this is not a file of encrypted secrets')
  }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'base64')

const keyFrom = (passphrase: string, salt: Buffer, cost: number): Promise<Buffer> =>
  derive(passphrase, salt, KEY_BYTES, {
    N: cost,
    r: BLOCK_SIZE,
    p: 1,
    maxmem: 2 * 128 * BLOCK_SIZE * cost,
  })
