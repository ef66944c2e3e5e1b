import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordedLog, serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'
import { call, send } from './proxied.js'

test('requests that fail alike because no replica is there are logged ten times a minute', async (t) => {
  const { log, lines } = recordedLog()
  const target = await closedPort()
  const gateway = await serving(
    t,
    [
      { use: 'listen/http', with: { address: '127.0.0.1:0' } },
      { use: 'auth/anonymous' },
      { use: 'forward/balanced', with: { targets: [target] } },
    ],
    { log },
  )
  for (let sent = 0; sent < 15; sent++) {
    assert.equal((await send(gateway.addresses.main ?? '', call(1))).status, 502)
  }
  assert.equal(lines.filter(({ err }) => err !== undefined).length, 10)
})
