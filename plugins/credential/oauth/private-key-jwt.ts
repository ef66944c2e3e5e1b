import { createPrivateKey, type KeyObject } from 'node:crypto'
import { importPKCS8 } from 'jose/key/import'
import { type ClientAuth, PrivateKeyJwt } from 'oauth4webapi'

const OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** Proves a client by a signature (RFC 7523, 2.2): what the issuer gets is good for a minute, and at that issuer alone. */
export function keyProof(pem: string): ClientAuth {
  const key = createPrivateKey(pem)
  const pkcs8 = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const signing = importPKCS8(pkcs8, algorithmOf(key))
  // Told where it is waited for.
  signing.catch(() => {})
  return async (server, client, body, headers) => PrivateKeyJwt(await signing)(server, client, body, headers)
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject): string {
  if (type === 'ec') return OF_CURVE[asymmetricKeyDetails?.namedCurve ?? ''] ?? 'ES256'
  if (type === 'ed25519') return 'Ed25519'
  return type === 'rsa-pss' ? 'PS256' : 'RS256'
}
