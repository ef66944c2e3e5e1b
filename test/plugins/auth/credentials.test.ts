import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gateOf, issuing } from '../../kit/index.js'
import { asked } from '../../kit/raw.js'

async function gateway(t: TestContext) {
  const issuer = await issuing(t)
  const { running } = await gateOf(t, [{ use: 'auth/jwt', with: issuer.provider }])
  return { main: running.addresses.main ?? '', token: await issuer.jwt() }
}

test('RS-06: a token in a query or a form is no token', async (t) => {
  const { main, token } = await gateway(t)
  const form = `access_token=${token}`
  const inForm = [
    'Host: gateway',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}\r\n\r\n${form}`,
  ]
  assert.equal((await asked(main, `GET /closed?access_token=${token}`)).status, 401)
  assert.equal((await asked(main, 'POST /closed', inForm)).status, 401)
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
    const { status } = await asked(main, 'GET /closed', ['Host: gateway', ...headers])
    assert.ok([400, 401].includes(status), String(status))
  }
  assert.equal((await asked(main, 'GET /closed', ['Host: gateway', good])).status, 200)
})
