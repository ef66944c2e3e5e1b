import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin } from 'sallyport'
import { booted, contractSuite, recordedLog } from 'sallyport/testing'
import plugin from './index.js'

test('the audit logs a denied request', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin }], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.ok(lines.some(({ msg }) => msg === 'denied'))
})

test('the audit logs a failed request, and no allowed one', async (t) => {
  const { log, lines } = recordedLog()
  const routes = definePlugin({
    name: 'routes',
    api: 1,
    setup({ http }) {
      http.get('/good', async () => ({}))
      http.get('/bad', (_request, reply) => reply.code(500).send())
    },
  })
  const app = await booted(t, [{ use: plugin }, { use: 'auth/anonymous' }, { use: routes }], { log })

  assert.equal((await app.inject('/good')).statusCode, 200)
  assert.equal((await app.inject('/bad')).statusCode, 500)
  const logged = lines.filter(({ msg, route }) => msg === 'failed' || route === '/good')
  assert.deepEqual(
    logged.map(({ route }) => route),
    ['/bad'],
  )
})

contractSuite('my-audit', () => ({ list: [{ use: plugin }] }))
