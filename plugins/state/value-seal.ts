import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'
import { type Secret, type SecretContext, type SecretPlaces, secretFrom } from 'sallyport'
import { z } from 'zod'

// 32 MiB and a tenth of a second for each guess; derived once for each salt that is met.
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

const envelope = z.object({ salt: z.string(), iv: z.string(), tag: z.string(), data: z.string() })

/** Encrypts values, each bound to its key: one that is put under another key does not open. */
export class Seal {
  private readonly keys = new Map<string, Buffer>()
  private readonly salt = randomBytes(16).toString('base64')

  constructor(private readonly passphrase: Secret) {}

  async close(value: string, key: string): Promise<string> {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.keyFor(this.salt), iv).setAAD(Buffer.from(key))
    const data = Buffer.concat([cipher.update(value), cipher.final()])
    const [ivText, tag, text] = [iv, cipher.getAuthTag(), data].map((bytes) => bytes.toString('base64'))
    return JSON.stringify({ salt: this.salt, iv: ivText, tag, data: text })
  }

  async open(sealed: string, key: string): Promise<string> {
    const { salt, iv, tag, data } = envelope.parse(JSON.parse(sealed))
    // The length is fixed here: a shorter tag is easier to forge.
    const decipher = createDecipheriv('aes-256-gcm', this.keyFor(salt), bytes(iv), { authTagLength: 16 })
    decipher.setAuthTag(bytes(tag)).setAAD(Buffer.from(key))
    return Buffer.concat([decipher.update(bytes(data)), decipher.final()]).toString()
  }

  /** Lets go of the file that the passphrase came from. */
  release(): void {
    this.passphrase.close()
  }

  private keyFor(salt: string): Buffer {
    const known = this.keys.get(salt)
    if (known !== undefined) return known
    const key = scryptSync(this.passphrase.reveal(), bytes(salt), 32, COST)
    // Salts come from files: a few processes write them, and no more are remembered than that.
    if (this.keys.size >= 64) this.keys.clear()
    this.keys.set(salt, key)
    return key
  }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'base64')

/** Nothing when no passphrase is to be found at any of these places. */
export function openSeal(places: SecretPlaces, context: SecretContext): Seal | undefined {
  const secret = secretFrom(places, context)
  return secret === undefined ? undefined : new Seal(secret)
}
