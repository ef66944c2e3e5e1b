import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { compactVerify, createLocalJWKSet, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { runs } from '#kit/runs.js'
import { ALGORITHMS, readJwt } from '#plugins/auth/provider/jwt.js'
import { ProviderKeys } from '#plugins/auth/provider/signature.js'

const CLAIMS = { iss: 'https://issuer.example.com', sub: 'somebody' }

async function signedToken(alg: string, modulusLength = 2048) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg, use: 'sig' }
  const token = await new SignJWT(CLAIMS).setProtectedHeader({ alg, kid: 'one' }).sign(privateKey)
  return { jwk, token }
}

const providerKeys = (keys: Parameters<typeof createLocalJWKSet>[0]['keys']) =>
  new ProviderKeys(createLocalJWKSet({ keys }))

/** As the verifier does: with the keys that were selected before, and then with all of them. */
async function check(token: string, keys: ProviderKeys) {
  const jwt = readJwt(token)
  if (jwt === undefined) return { failed: 'no JWT' }
  return keys.haveSigned(token, jwt) ? { claims: jwt.claims } : keys.check(token, jwt)
}

for (const alg of ALGORITHMS) {
  test(`a changed token is accepted only where jose accepts it: ${alg}`, async () => {
    const { jwk, token } = await signedToken(alg)
    const [keys, ofJose] = [providerKeys([jwk]), createLocalJWKSet({ keys: [jwk] })]
    const jwt = readJwt(token)
    assert.ok(jwt !== undefined && !keys.haveSigned(token, jwt), 'no key was selected yet')
    assert.deepEqual(await check(token, keys), { claims: CLAIMS })
    assert.ok(keys.haveSigned(token, jwt), 'the next token need not wait')
    const character = fc.constantFrom(...'abcXYZ019-_.=+/ \n\u00e9'.split(''))
    const changes = fc.array(
      fc.tuple(fc.nat(token.length - 1), fc.nat(3), fc.string({ unit: character, maxLength: 3 })),
      {
        minLength: 1,
        maxLength: 2,
      },
    )
    await fc.assert(
      fc.asyncProperty(changes, async (all) => {
        const changed = all.reduce(
          (text, [at, length, inserted]) => text.slice(0, at) + inserted + text.slice(at + length),
          token,
        )
        const isAccepted = await compactVerify(changed, ofJose, { algorithms: [alg] }).then(
          () => true,
          () => false,
        )
        const checked = await check(changed, keys)
        assert.equal('claims' in checked, isAccepted && readJwt(changed) !== undefined)
      }),
      { numRuns: runs(150) },
    )
  })
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function signedBy(key: KeyObject, alg: string, hash: string): string {
  const input = `${part({ alg, kid: 'one' })}.${part(CLAIMS)}`
  return `${input}.${sign(hash, Buffer.from(input), key).toString('base64url')}`
}

test('a valid signature by an RSA key of less than 2048 bits is refused (RFC 7518, 3.3)', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const keys = providerKeys([{ ...(publicKey.export({ format: 'jwk' }) as { kty: string }), kid: 'one' }])
  assert.deepEqual(await check(signedBy(privateKey, 'RS256', 'sha256'), keys), { failed: 'key' })
})

test('a valid signature in the encoding of X.509, which JWS does not have, is refused (RFC 7518, 3.4)', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keys = providerKeys([{ ...(publicKey.export({ format: 'jwk' }) as { kty: string }), kid: 'one' }])
  assert.deepEqual(await check(signedBy(privateKey, 'ES256', 'sha256'), keys), { failed: 'signature' })
})

test('a key for another algorithm, use or ID verifies nothing', async () => {
  const { jwk, token } = await signedToken('RS256')
  for (const other of [{ alg: 'PS256' }, { use: 'enc' }, { key_ops: ['encrypt'] }, { kid: 'two' }]) {
    const keys = providerKeys([{ ...jwk, ...other }])
    assert.deepEqual(await check(token, keys), { failed: 'no key' }, JSON.stringify(other))
  }
})

test('a key that was selected for one algorithm verifies nothing by another', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = publicKey.export({ format: 'jwk' }) as { kty: string }
  const keys = providerKeys([{ ...jwk, kid: 'one', alg: 'RS256' }])
  assert.deepEqual(await check(signedBy(privateKey, 'RS256', 'sha256'), keys), { claims: CLAIMS })
  assert.deepEqual(await check(signedBy(privateKey, 'RS512', 'sha512'), keys), { failed: 'no key' })
})

test('a token is tried with each of several keys without ID', async () => {
  const [one, two] = [await signedToken('ES256'), await signedToken('ES256')]
  const keys = providerKeys([one.jwk, two.jwk].map((jwk) => ({ ...jwk, kid: 'one' })))
  for (const { token } of [one, two]) assert.deepEqual(await check(token, keys), { claims: CLAIMS })
})
