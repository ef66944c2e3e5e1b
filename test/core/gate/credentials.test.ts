import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Authenticator, type Credentials, definePlugin } from 'sallyport'
import { gatewayWith, issuing } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { requestRaw, sendRaw } from '#kit/raw.js'
import { runs } from '#kit/runs.js'

/** Accepts every request and responds with its credentials. */
const mirror = definePlugin({
  name: 'mirror',
  api: 1,
  provides: [Authenticator],
  setup(gateway) {
    gateway.provide(Authenticator, {
      provider: 'mirror',
      authenticate: () => ({ identity: { provider: 'mirror', subject: 'anybody', claims: {} } }),
    })
    gateway.http.get('/', ({ credentials }) => told(credentials))
  },
})

const told = (credentials: Credentials): string =>
  credentials.kind === 'bearer'
    ? `<bearer ${credentials.token} ${credentials.digest}>`
    : `<${credentials.kind}>`

const bearer = (token: string): string => `<bearer ${token} ${hash('sha256', token, 'base64url')}>`

/** Header lines, and the credentials of the request. */
const headers = [
  ['', '<none>'],
  ['Authorization: Bearer one\r\n', bearer('one')],
  ['authorization: bearer one\r\n', bearer('one')],
  ['Authorization: Bearer two\r\n', bearer('two')],
  ['Authorization: Bearer one\r\nAuthorization: Bearer one\r\n', '<malformed>'],
  ['Authorization: Bearer one\r\nAuthorization: Bearer two\r\n', '<malformed>'],
  ['Authorization: Basic b25l\r\n', '<malformed>'],
  ['Authorization: Bearer one two\r\n', '<malformed>'],
] as const

test('the credentials of a request do not depend on earlier requests of its connection', async (t) => {
  const { main = '' } = (await serving(t, [{ use: mirror }, listen])).addresses

  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...headers), { minLength: 1, maxLength: 12 }), async (sent) => {
      const requests = sent.map(([lines], index) => {
        const last = index === sent.length - 1 ? 'Connection: close\r\n' : ''
        return `GET / HTTP/1.1\r\nHost: a\r\n${lines}${last}\r\n`
      })
      const answers = (await sendRaw(main, requests.join(''))).match(/<.*>/g)
      assert.deepEqual(
        answers,
        sent.map(([, presented]) => presented),
      )
    }),
    { numRuns: runs(60) },
  )
})

async function gateway(t: TestContext) {
  const issuer = await issuing(t)
  const { running } = await gatewayWith(t, [{ use: 'auth/jwt', with: issuer.provider }])
  return { main: running.addresses.main ?? '', token: await issuer.jwt() }
}

test('RS-06: a token in a query or a form is ignored', async (t) => {
  const { main, token } = await gateway(t)
  const form = `access_token=${token}`
  const inForm = [
    'POST /closed HTTP/1.1',
    'Host: gateway',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
    'Connection: close',
    '',
    form,
  ]
  assert.equal((await requestRaw(main, `GET /closed?access_token=${token}`)).status, 401)
  assert.match(await sendRaw(main, inForm.join('\r\n')), /^HTTP\/1.1 401 /)
})

test('RS-07: two Authorization headers are refused, also when both are the same good token', async (t) => {
  const { main, token } = await gateway(t)
  const good = `Authorization: Bearer ${token}`
  for (const headers of [
    [good, good],
    [good, 'Authorization: Bearer x'],
    ['authorization: Basic eA==', good],
    [`Authorization: Bearer ${token}, Bearer ${token}`],
    [`Authorization: Bearer\r\n ${token}`],
  ]) {
    const { status } = await requestRaw(main, 'GET /closed', ['Host: gateway', ...headers])
    assert.ok([400, 401].includes(status), String(status))
  }
  assert.equal((await requestRaw(main, 'GET /closed', ['Host: gateway', good])).status, 200)
})
