import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { definePlugin, type Gateway, Guard } from 'sallyport'
import { recordedLog, serving } from '../kit/booted.js'
import { dial, spoken } from '../kit/raw.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }
const plugin = (setup: (gateway: Gateway) => unknown) => ({
  use: definePlugin({
    name: 'strange',
    api: 1,
    provides: [Guard],
    setup: async (gateway) => void (await setup(gateway)),
  }),
})
const open = { config: { public: true } }
const HIDDEN = 'the password is swordfish'

const throwing = {
  'a promise': async () => {
    throw new Error(HIDDEN)
  },
  'at once': () => {
    throw new Error(HIDDEN)
  },
  'a callback': (_request: unknown, _reply: unknown, _payload: unknown, done: (error: Error) => void) =>
    done(new Error(HIDDEN)),
}

for (const [how, hook] of Object.entries(throwing)) {
  test(`an onSend hook that fails by ${how} tells nobody why, and the log everything`, async (t) => {
    const { log, lines } = recordedLog()
    const { addresses } = await serving(
      t,
      [
        listen,
        plugin(({ http }) => {
          http.addHook('onSend', hook as never)
          http.get('/', open, () => 'well')
        }),
        plugin(({ http }) => void http.get('/own', { ...open, onSend: hook as never }, () => 'well')),
      ].map((entry, index) => ({ ...entry, id: `entry-${index}` })),
      { log },
    )
    for (const path of ['/', '/own']) {
      const answer = await fetch(`${addresses.main}${path}`)
      assert.equal(answer.status, 500)
      assert.doesNotMatch(await answer.text(), /swordfish/)
    }
    assert.match(JSON.stringify(lines), /swordfish/)
  })
}

test('an onSend hook may still change what is sent, in each of its forms', async (t) => {
  const { addresses } = await serving(t, [
    listen,
    plugin(({ http }) => {
      http.addHook('onSend', async (_request, _reply, payload) => `${payload} one`)
      http.addHook('onSend', (_request, _reply, payload, done) => done(null, `${payload} two`))
      http.get('/', open, () => 'zero')
    }),
  ])
  assert.equal(await (await fetch(`${addresses.main}/`)).text(), 'zero one two')
})

test('an onClose hook that fails keeps nobody else from closing', async (t) => {
  const { log, lines } = recordedLog()
  const closed: string[] = []
  const running = await serving(
    t,
    [
      listen,
      plugin(({ http }) => {
        http.addHook('onClose', async () => void closed.push('first'))
        http.addHook('onClose', () => {
          throw new Error('a bad end')
        })
        http.addHook('onClose', async () => {
          throw new Error('another bad end')
        })
        http.addHook('onClose', (_instance, done) => {
          closed.push('last')
          done()
        })
      }),
    ],
    { log },
  )
  await running.stop()
  assert.deepEqual(closed.toSorted(), ['first', 'last'])
  assert.match(JSON.stringify(lines), /a bad end/)
  assert.match(JSON.stringify(lines), /another bad end/)
})

for (const framing of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
  test(`a body that never ends is not waited for: ${framing}`, async (t) => {
    const { addresses } = await serving(
      t,
      [listen, plugin(({ http }) => void http.post('/', open, () => 'read'))],
      { bodyDeadline: 100 },
    )
    const { hostname, port } = new URL(addresses.main ?? '')
    const socket = connect(Number(port), hostname)
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    await once(socket, 'close')
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.match(answer, /"error":"body_too_slow"/)
  })
}

test('who left while the gate looked is not waited for', async (t) => {
  const { log, lines } = recordedLog()
  let leave: () => void = () => {}
  const { addresses } = await serving(
    t,
    [
      listen,
      plugin((gateway) => {
        gateway.provide(Guard, async ({ raw, headers }) => {
          if (headers['x-leaves'] === undefined) return
          leave()
          await once(raw.socket, 'close')
        })
        gateway.http.post('/', open, () => 'read')
      }),
    ],
    { bodyDeadline: 100, log },
  )
  const head = 'Host: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n'
  const leaving = dial(addresses.main ?? '')
  leave = () => leaving.destroy()
  leaving.write(`POST / HTTP/1.1\r\nX-Leaves: 1\r\n${head}`)
  await once(leaving, 'close')

  // Its own time runs out after that of the one before would have.
  assert.match(await spoken(addresses.main ?? '', `POST / HTTP/1.1\r\n${head}`), /^HTTP\/1\.1 408 /)
  assert.equal(lines.filter(({ refused }) => refused === 'BODY_TOO_SLOW').length, 1)
})

test('a body that comes in time is read', async (t) => {
  const { addresses } = await serving(t, [
    listen,
    plugin(({ http }) => void http.post('/', open, ({ body }) => body)),
  ])
  const answer = await fetch(`${addresses.main}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
  })
  assert.deepEqual(await answer.json(), { a: 1 })
})
