import { hkdfSync } from 'node:crypto'
import { jwtDecrypt } from 'jose/jwt/decrypt'
import { EncryptJWT } from 'jose/jwt/encrypt'
import { type Gateway, GatewayError } from 'sallyport'
import { digestOf, ownCookie, Secret, secretFrom } from 'sallyport/toolkit'
import type { z } from 'zod'

const ENCRYPTION = { alg: 'dir', enc: 'A256GCM' } as const
const MIN_KEY_BYTES = 32

/** Encrypts and authenticates the values of cookies. A value that was sealed for one purpose opens for no other. */
export class Seal {
  private derived: { readonly from: string; readonly key: Uint8Array } | undefined

  /** `owner` is part of every seal, so that another issuer or client with the same key opens nothing. */
  constructor(
    private readonly secret: Secret,
    private readonly owner: string,
  ) {}

  /** The name of a cookie: another owner at the same host has cookies of its own, whatever their port and path. */
  cookieName(name: string): string {
    return ownCookie(`${name}-${digestOf(this.owner).slice(0, 10)}`)
  }

  /** `until` is in milliseconds since the epoch. */
  seal(purpose: string, value: unknown, until: number): Promise<string> {
    return new EncryptJWT({ value })
      .setProtectedHeader(ENCRYPTION)
      .setAudience(this.audience(purpose))
      .setExpirationTime(Math.ceil(until / 1000))
      .encrypt(this.key)
  }

  /** Returns undefined for a value that was not sealed here, was changed, has expired, or has another form. */
  async open<T>(purpose: string, text: string, form: z.ZodType<T>): Promise<T | undefined> {
    try {
      const { payload } = await jwtDecrypt(text, this.key, {
        audience: this.audience(purpose),
        requiredClaims: ['exp'],
        keyManagementAlgorithms: [ENCRYPTION.alg],
        contentEncryptionAlgorithms: [ENCRYPTION.enc],
      })
      return form.safeParse(payload['value']).data
    } catch {
      return undefined
    }
  }

  close(): void {
    this.secret.close()
  }

  private audience(purpose: string): string {
    return `${purpose} ${this.owner}`
  }

  private get key(): Uint8Array {
    const from = this.secret.reveal()
    if (this.derived?.from !== from) {
      const key = hkdfSync('sha256', bytesOf(from), '', 'cookies of pages/sign-in', MIN_KEY_BYTES)
      this.derived = { from, key: new Uint8Array(key) }
    }
    return this.derived.key
  }
}

/** The key from the file, else a random one that lasts until the next start. */
export function cookieKey(gateway: Gateway, written: string | undefined): Secret {
  const { log, scrubber } = gateway
  const secret = secretFrom({ file: gateway.path(written) }, { log, scrubber, check: refuseShort })
  return secret ?? new Secret(gateway.keyFor('cookies').toString('base64'))
}

const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'base64')

function refuseShort(text: string, place: string): void {
  const isBase64 = /^[\w+/-]+=*$/.test(text.replaceAll(/\s/g, ''))
  if (isBase64 && bytesOf(text).length >= MIN_KEY_BYTES) return
  const found = isBase64 ? `${bytesOf(text).length} bytes` : 'something else'
  const expected = `expected at least ${MIN_KEY_BYTES} bytes in base64, as \`openssl rand -base64 32\` prints them`
  throw new GatewayError('COOKIE_KEY_SHORT', `${place} holds ${found}: ${expected}`)
}
