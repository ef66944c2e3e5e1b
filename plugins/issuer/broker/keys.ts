import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { type JsonObject, jsonObject } from 'sallyport/toolkit'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** What is made of one key file. */
interface KeySet {
  /** The private key that signs tokens (ES256), as a JWK. */
  readonly signing: JsonObject & { readonly kid: string }
  readonly sealing: Buffer
  readonly cookies: string
}

/** The keys of the broker: the first signs and seals, and all verify and open, so that a key can be replaced in two steps. */
export class BrokerKeys {
  private readonly sets: readonly KeySet[]

  constructor(secrets: readonly Buffer[]) {
    this.sets = secrets.map(keySetOf)
  }

  /** The private keys, for the engine. */
  get signing(): readonly JsonObject[] {
    return this.sets.map(({ signing }) => signing)
  }

  get verifying(): readonly JsonObject[] {
    return this.signing.map(({ d: _private, ...rest }) => rest)
  }

  get ids(): readonly string[] {
    return this.sets.map(({ signing: { kid } }) => kid)
  }

  get cookies(): readonly string[] {
    return this.sets.map(({ cookies }) => cookies)
  }

  /** Only `open` with the same purpose gets the text back. */
  seal(purpose: string, text: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.first.sealing, iv).setAAD(Buffer.from(purpose))
    const data = Buffer.concat([cipher.update(text), cipher.final()])
    return Buffer.concat([iv, data, cipher.getAuthTag()]).toString('base64url')
  }

  /** Undefined for what no key of this broker sealed for this purpose. */
  open(purpose: string, sealed: string): string | undefined {
    if (!/^[\w-]+$/.test(sealed)) return undefined
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined
    for (const { sealing } of this.sets) {
      const text = opened(sealing, purpose, bytes)
      if (text !== undefined) return text
    }
    return undefined
  }

  openObject(purpose: string, sealed: string): JsonObject | undefined {
    const text = this.open(purpose, sealed)
    return text === undefined ? undefined : jsonObject(text)
  }

  /** A token that only this broker can make for these words. */
  sign(...words: readonly string[]): string {
    return signature(this.first.sealing, words)
  }

  hasSigned(token: string, ...words: readonly string[]): boolean {
    return this.sets.some(({ sealing }) => isSame(signature(sealing, words), token))
  }

  private get first(): KeySet {
    const [first] = this.sets
    if (first === undefined) throw new Error('a broker has one key at least')
    return first
  }
}

function opened(key: Buffer, purpose: string, bytes: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES)).setAAD(Buffer.from(purpose))
    const data = bytes.subarray(IV_BYTES, -TAG_BYTES)
    return Buffer.concat([decipher.update(data), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

const signature = (key: Buffer, words: readonly string[]): string =>
  createHmac('sha256', key).update(JSON.stringify(words)).digest('base64url')

function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Replicas with the same file make the same keys of it. */
function keySetOf(secret: Buffer): KeySet {
  const derived = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, '', `issuer/broker ${purpose}`, length))
  return {
    signing: signingKey((attempt) => derived(`signing ${attempt}`, 32)),
    sealing: derived('sealing', 32),
    cookies: derived('cookies', 32).toString('base64url'),
  }
}

/** A key pair on P-256. One of 2^32 candidates is no private key of the curve, and the next is taken. */
function signingKey(candidate: (attempt: number) => Buffer): KeySet['signing'] {
  for (let attempt = 0; ; attempt++) {
    const secret = candidate(attempt)
    const pair = createECDH('prime256v1')
    try {
      pair.setPrivateKey(secret)
    } catch {
      continue
    }
    const point = pair.getPublicKey()
    const [x, y] = [point.subarray(1, 33), point.subarray(33)]
    return {
      kty: 'EC',
      crv: 'P-256',
      x: x.toString('base64url'),
      y: y.toString('base64url'),
      d: secret.toString('base64url'),
      kid: createHmac('sha256', 'kid').update(point).digest('base64url').slice(0, 16),
      alg: 'ES256',
      use: 'sig',
    }
  }
}
