import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type Judgement, Policy } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import plugin from './index.js'

const list = [{ use: plugin, with: { domain: 'example.com' } }]

test('callers of the domain may use tools with the prefix, and all callers the others', async (t) => {
  const asked: Judgement[] = []
  const asking = definePlugin({
    name: 'asking',
    api: 1,
    setup(gateway) {
      const policies = gateway.use(Policy)
      gateway.http.get('/', { config: { public: true } }, async (request) => {
        for (const email of ['ann@example.com', 'bob@example.org'])
          for (const name of ['admin_reset', 'search']) {
            const identity = { provider: 'corp', subject: email, claims: { email } }
            const subject = { kind: 'tool', name } as const
            const call = { kind: 'request', method: 'tools/call', id: 1, subjects: [subject] } as const
            for (const policy of policies())
              asked.push(await policy.judge({ identity, request, call, subject }))
          }
        return 'asked'
      })
    },
  })
  const app = await booted(t, [...list, { use: asking }])
  await app.inject('/')

  assert.deepEqual(
    asked.map(({ allowed }) => allowed),
    [true, true, false, true],
  )
})

contractSuite('my-policy', () => ({ list }))
