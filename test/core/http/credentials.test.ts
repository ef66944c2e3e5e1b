import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Authenticator, type Credentials, definePlugin } from 'sallyport'
import { serving } from '../../kit/booted.js'
import { spoken } from '../../kit/raw.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

/** Lets everybody in and tells them what they presented. */
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

/** Header lines, and what they present. */
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

test('what a request presents does not depend on what came before it on its connection', async (t) => {
  const { main = '' } = (await serving(t, [{ use: mirror }, listen])).addresses

  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...headers), { minLength: 1, maxLength: 12 }), async (sent) => {
      const requests = sent.map(([lines], index) => {
        const last = index === sent.length - 1 ? 'Connection: close\r\n' : ''
        return `GET / HTTP/1.1\r\nHost: a\r\n${lines}${last}\r\n`
      })
      const answers = (await spoken(main, requests.join(''))).match(/<.*>/g)
      assert.deepEqual(
        answers,
        sent.map(([, presented]) => presented),
      )
    }),
    { numRuns: 60 },
  )
})
