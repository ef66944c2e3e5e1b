import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { jwtVerify } from 'jose'
import { ConfigError } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const pem = { type: 'pkcs8', format: 'pem' } as const
const pairs = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  Ed25519: () => generateKeyPairSync('ed25519'),
}

const options = { grant: 'client_credentials', login: 'start', scopes: ['a'] }
const registrars = (clientKeyFile: string) => [
  { use: 'registrar/given', with: { clientId: 'mine', clientKeyFile } },
]

for (const [algorithm, pair] of Object.entries(pairs)) {
  test(`a client without a user authenticates by private_key_jwt: ${algorithm} (CL-32)`, async (t) => {
    const { privateKey, publicKey } = pair()
    const path = join(folder(t, { 'key.pem': String(privateKey.export(pem)) }), 'key.pem')
    const server = await startAuthorizationServer(t)
    const { urls } = signInUser(t)
    const { main } = await proxyWithLogin(t, server.target, options, { registrars: registrars(path) })

    assert.equal((await send(main, call(1))).status, 200)
    server.revokeTokens()
    assert.equal((await send(main, call(2))).status, 200)

    const asked = server.at('/token')
    assert.equal(asked.length, 2)
    const ids = new Set<unknown>()
    for (const { form, headers } of asked) {
      assert.equal(headers.authorization, undefined)
      assert.equal(form.get('client_secret'), null)
      assert.equal(
        form.get('client_assertion_type'),
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      )
      const { payload, protectedHeader } = await jwtVerify(form.get('client_assertion') ?? '', publicKey, {
        issuer: 'mine',
        subject: 'mine',
        audience: server.origin,
        maxTokenAge: 60,
        requiredClaims: ['exp', 'jti'],
      })
      assert.equal(protectedHeader.alg, algorithm)
      ids.add(payload.jti)
    }
    assert.deepEqual([ids.size, urls.length], [2, 0])
  })
}

test('a session is refreshed with the private key of its client', async (t) => {
  const { privateKey, publicKey } = pairs.ES256()
  const path = join(folder(t, { 'key.pem': String(privateKey.export(pem)) }), 'key.pem')
  const { urls } = signInUser(t)
  const server = await startAuthorizationServer(t)
  const { main } = await proxyWithLogin(t, server.target, {}, { registrars: registrars(path) })
  assert.equal((await send(main, call(1))).status, 200)

  server.revokeTokens()
  assert.equal((await send(main, call(2))).status, 200)
  const [, refresh] = server.at('/token')
  assert.deepEqual([refresh?.form.get('grant_type'), urls.length], ['refresh_token', 1])
  await jwtVerify(refresh?.form.get('client_assertion') ?? '', publicKey)
})

test('a refresh uses the client secret that the file holds at that time', async (t) => {
  const clientSecretFile = join(folder(t, { secret: 'first' }), 'secret')
  const { urls } = signInUser(t)
  const server = await startAuthorizationServer(t)
  const given = [{ use: 'registrar/given', with: { clientId: 'mine', clientSecretFile } }]
  const { main } = await proxyWithLogin(t, server.target, {}, { registrars: given })
  assert.equal((await send(main, call(1))).status, 200)

  writeFileSync(clientSecretFile, 'second')
  await eventually(async () => {
    server.revokeTokens()
    assert.equal((await send(main, call(2))).status, 200)
    return server.at('/token').at(-1)?.headers.authorization === `Basic ${btoa('mine:second')}`
  }, 5)
  assert.equal(urls.length, 1)
})

test('the private key is not stored with the session', async (t) => {
  const text = String(pairs.ES256().privateKey.export(pem))
  const home = folder(t, { 'key.pem': text })
  const state = folder(t)
  const server = await startAuthorizationServer(t)
  const given = { registrars: registrars(join(home, 'key.pem')), directory: state }
  const { main } = await proxyWithLogin(t, server.target, options, given)
  assert.equal((await send(main, call(1))).status, 200)

  const files = readdirSync(state, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  assert.ok(files.some((file) => file.includes('oauth/session')))
  for (const line of text.split('\n').filter((each) => each.length > 20)) {
    assert.ok(files.every((file) => !file.includes(line)))
  }
})

test('a file without a private key stops the start, and the error does not show its text', async (t) => {
  const path = join(folder(t, { 'key.pem': 'canary, and no key' }), 'key.pem')
  const server = await startAuthorizationServer(t)
  await assert.rejects(
    proxyWithLogin(t, server.target, options, { registrars: registrars(path) }),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /expected a private key in PEM/)
      assert.doesNotMatch(error.message, /canary/)
      return true
    },
  )
})
