import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { dial, requestRaw } from '#kit/raw.js'

test('the gateway itself answers `OPTIONS *`, also where it forwards everything else', async (t) => {
  let forwarded = 0
  const target = await listening(t, (_request, response) => response.end(String(++forwarded)))
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { use: 'forward/http', with: { target } },
  ])
  const main = addresses.main ?? ''
  assert.deepEqual(await requestRaw(main, 'OPTIONS *'), { status: 204, body: '' })
  assert.equal((await requestRaw(main, 'GET *')).status, 400)
  assert.equal(forwarded, 0)

  // Bytes that could be the rest of that body are not read as a request.
  const socket = dial(main)
  t.after(() => socket.destroy())
  socket.write('OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n')
  const [early] = await once(socket, 'data')
  assert.match(String(early), /^HTTP\/1.1 204 .*\r\nConnection: close\r\n/s)
})
