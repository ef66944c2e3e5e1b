import { createPrivateKey, type KeyObject } from 'node:crypto'
import { importPKCS8 } from 'jose/key/import'
import { type ClientAuth, PrivateKeyJwt } from 'oauth4webapi'

const ALGORITHM_OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** Authenticates a client by `private_key_jwt` (RFC 7523, 2.2): an assertion is valid for a minute, at this issuer alone. */
export function privateKeyJwt(pem: string): ClientAuth {
  const key = createPrivateKey(pem)
  const pkcs8 = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const signing = importPKCS8(pkcs8, algorithmOf(key))
  // The error is thrown where it is awaited.
  signing.catch(() => {})
  return async (server, client, body, headers) => PrivateKeyJwt(await signing)(server, client, body, headers)
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject): string {
  if (type === 'ec') return ALGORITHM_OF_CURVE[asymmetricKeyDetails?.namedCurve ?? ''] ?? 'ES256'
  if (type === 'ed25519') return 'Ed25519'
  return type === 'rsa-pss' ? 'PS256' : 'RS256'
}
