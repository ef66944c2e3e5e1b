import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gateway } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { listen, plugin } from '#kit/plugin.js'

const strange = (setup: (gateway: Gateway) => unknown) => plugin('strange', setup)

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
  test(`an onSend hook that fails by ${how} is logged, and the response has no reason`, async (t) => {
    const { log, lines } = recordedLog()
    const { addresses } = await serving(
      t,
      [
        listen,
        strange(({ http }) => {
          http.addHook('onSend', hook as never)
          http.get('/', open, () => 'well')
        }),
        strange(({ http }) => void http.get('/own', { ...open, onSend: hook as never }, () => 'well')),
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

test('an onSend hook may change the payload, in each of its forms', async (t) => {
  const { addresses } = await serving(t, [
    listen,
    strange(({ http }) => {
      http.addHook('onSend', async (_request, _reply, payload) => `${payload} one`)
      http.addHook('onSend', (_request, _reply, payload, done) => done(null, `${payload} two`))
      http.get('/', open, () => 'zero')
    }),
  ])
  assert.equal(await (await fetch(`${addresses.main}/`)).text(), 'zero one two')
})

test('after an onClose hook that fails the others still run', async (t) => {
  const { log, lines } = recordedLog()
  const closed: string[] = []
  const running = await serving(
    t,
    [
      listen,
      strange(({ http }) => {
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
