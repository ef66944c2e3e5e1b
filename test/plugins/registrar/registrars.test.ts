import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  ClientRegistrar,
  definePlugin,
  type Entry,
  type RegisteredClient,
  type RegistrationRequest,
} from 'sallyport'
import { booted, recordedLog } from '../../kit/booted.js'
import { folder } from '../../kit/folder.js'
import { authorizing } from '../credential/oauth/authorization-server.js'

/** The registrars of a list, asked in order as a login does. */
async function registering(t: TestContext, entries: readonly Entry[], directory?: string) {
  const found: (readonly ClientRegistrar[])[] = []
  const use = definePlugin({
    name: 'taking',
    api: 1,
    setup(gateway) {
      const registrars = gateway.use(ClientRegistrar)
      gateway.onStart(() => void found.push(registrars()))
    },
  })
  const store =
    directory === undefined ? { use: 'state/memory' } : { use: 'state/files', with: { directory } }
  await booted(t, [store, ...entries, { use }], { log: recordedLog().log })
  const registrars = found.flat()
  return {
    registrars,
    async register(request: RegistrationRequest): Promise<RegisteredClient | undefined> {
      for (const registrar of registrars) {
        const client = await registrar.register(request)
        if (client !== undefined) return client
      }
      return undefined
    },
  }
}

const wanting = (issuer: string, more: Partial<RegistrationRequest> = {}): RegistrationRequest => ({
  issuer,
  metadata: { registration_endpoint: `${issuer}/register` },
  redirectUris: ['http://127.0.0.1:8666/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: [],
  fetch,
  ...more,
})

const byItself = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }]

test('what the issuer answers counts, whatever was asked for (CL-14)', async (t) => {
  const server = await authorizing(t)
  server.registration = {
    client_id: 'theirs',
    client_secret: 'secret',
    client_secret_expires_at: 4102444800,
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: ['http://127.0.0.1:8666/callback', 'http://localhost:8666/callback'],
  }
  const { register } = await registering(t, byItself)
  assert.deepEqual(await register(wanting(server.origin)), {
    issuer: server.origin,
    clientId: 'theirs',
    clientSecret: 'secret',
    tokenEndpointAuthMethod: 'client_secret_post',
    redirectUris: ['http://127.0.0.1:8666/callback', 'http://localhost:8666/callback'],
    secretExpiresAt: 4102444800,
  })
})

test('the way to prove oneself is one that the issuer takes (CL-15)', async (t) => {
  const cases = [
    [undefined, 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['private_key_jwt', 'none'], 'none'],
  ] as const
  for (const [supported, expected] of cases) {
    const server = await authorizing(t)
    const { register } = await registering(t, byItself)
    const metadata = {
      registration_endpoint: `${server.origin}/register`,
      token_endpoint_auth_methods_supported: supported,
    }
    await register(wanting(server.origin, { metadata }))
    const body = JSON.parse(server.at('/register')[0]?.body ?? '{}')
    assert.equal(body.token_endpoint_auth_method, expected)
  }
})

test('a client is registered once for an issuer, also over a restart, and again when it was forgotten (CL-13)', async (t) => {
  const directory = folder(t)
  const [server, other] = [await authorizing(t), await authorizing(t)]
  const first = await registering(t, byItself, directory)
  const client = await first.register(wanting(server.origin))
  assert.ok(client)
  const second = await registering(t, byItself, directory)
  assert.deepEqual(await second.register(wanting(server.origin)), client)
  assert.equal(server.times('/register'), 1)

  await second.register(wanting(other.origin))
  assert.equal(other.times('/register'), 1)

  for (const { forget } of second.registrars) await forget?.(client)
  await second.register(wanting(server.origin))
  assert.deepEqual([server.times('/register'), other.times('/register')], [2, 1])
})

test('a client whose secret ends soon is registered anew, and so is one with another way back', async (t) => {
  const server = await authorizing(t)
  server.registration = { client_secret: 's', client_secret_expires_at: Math.floor(Date.now() / 1000) + 60 }
  const { register } = await registering(t, byItself)
  await register(wanting(server.origin))
  await register(wanting(server.origin))
  assert.equal(server.times('/register'), 2)

  await register(wanting(server.origin, { redirectUris: ['http://127.0.0.1:1/callback'] }))
  assert.equal(server.times('/register'), 3)
})

test('a refusal tells its code and nothing else that a stranger wrote (CL-14)', async (t) => {
  const server = await authorizing(t)
  const { register } = await registering(t, byItself)
  const answering = (status: number, body: unknown) =>
    wanting(server.origin, {
      fetch: async () =>
        new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } }),
    })
  const refusal = answering(400, { error: 'invalid_redirect_uri', error_description: '\u001b[2Jevil' })
  await assert.rejects(register(refusal), (error: Error) => {
    assert.match(error.message, /registers no client for us: invalid_redirect_uri$/)
    return true
  })
  for (const [status, body] of [
    [200, {}],
    [201, []],
    [201, { client_id: 7 }],
    [500, {}],
  ] as const) {
    await assert.rejects(register(answering(status, body)), { code: 'REGISTRATION_REFUSED' })
  }
  // Some say 200, and some forget to say that a secret has no end.
  const lax = await register(answering(200, { client_id: 'x', client_secret: 'secret' }))
  assert.deepEqual([lax?.clientId, lax?.clientSecret], ['x', 'secret'])
})

test('the operator’s client goes to its issuer and to no other (T3, CL-13)', async (t) => {
  const given = (issuer?: string) => [
    {
      use: 'registrar/given',
      with: { clientId: 'mine', clientSecret: 'my secret', ...(issuer && { issuer }) },
    },
  ]
  const named = await registering(t, given('https://a.example'))
  assert.equal((await named.register(wanting('https://a.example')))?.clientSecret, 'my secret')
  for (const other of ['https://a.example/', 'https://A.example', 'https://b.example']) {
    await assert.rejects(named.register(wanting(other)), { code: 'CLIENT_OF_ANOTHER_ISSUER' })
  }

  const free = await registering(t, given())
  // What was only tried binds nothing: a mistake must not shut the right issuer out.
  await free.register(wanting('https://a.example'))
  const client = await free.register(wanting('https://b.example'))
  assert.ok(client)
  for (const registrar of free.registrars) await registrar.accepted?.(client)
  await assert.rejects(free.register(wanting('https://a.example')), { code: 'CLIENT_OF_ANOTHER_ISSUER' })
  assert.equal((await free.register(wanting('https://b.example')))?.clientId, 'mine')
})

test('a client ID that is a URL is sent where such documents are read, without a secret (CL-16, CL-17)', async (t) => {
  const server = await authorizing(t)
  const url = 'https://app.example/client.json'
  const { register } = await registering(t, [
    { use: 'registrar/metadata-document', with: { url } },
    ...byItself,
  ])
  const metadata = { client_id_metadata_document_supported: true }
  assert.deepEqual(await register(wanting(server.origin, { metadata })), {
    issuer: server.origin,
    clientId: url,
    tokenEndpointAuthMethod: 'none',
  })
  assert.equal((await register(wanting(server.origin)))?.clientId, 'registered')
  assert.equal(await register(wanting('https://other.example', { metadata: {} })), undefined)
})

for (const url of [
  'http://app.example/client.json',
  'https://app.example',
  'https://app.example/',
  'https://app.example/a#b',
  'https://user@app.example/a',
  'https://app.example/a/../b',
  'https://app.example/./b',
  'client',
]) {
  test(`${url} is no client ID that is a URL (CL-17)`, async (t) => {
    const entries = [{ use: 'registrar/metadata-document', with: { url } }]
    await assert.rejects(registering(t, entries), { code: 'CONFIG_INVALID' })
  })
}

test('a secret file that is missing or empty stops the start', async (t) => {
  const directory = folder(t, { empty: '\n' })
  for (const name of ['empty', 'missing']) {
    const options = { clientId: 'mine', clientSecretFile: `${directory}/${name}` }
    await assert.rejects(registering(t, [{ use: 'registrar/given', with: options }]), {
      code: 'CONFIG_INVALID',
    })
  }
})
