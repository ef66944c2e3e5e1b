import type { PluginKind } from './sources.js'

const head = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import plugin from './index.js'
`

/** The test that a new plugin comes with, by its kind. */
export const tests: Readonly<Record<PluginKind, string>> = {
  guard: `${head}import { booted } from 'sallyport/testing'

test('a path that is too long is refused, any other is not', async (t) => {
  const app = await booted(t, [{ use: plugin, with: { longest: 10 } }, { use: 'auth/anonymous' }])
  assert.equal((await app.inject('/short')).statusCode, 404)
  assert.equal((await app.inject('/much-too-long')).statusCode, 403)
})
`,

  authenticator: `${head}import { gateOf } from 'sallyport/testing'

test('the key is let in, and nothing else is', async (t) => {
  const { knock } = await gateOf(t, [{ use: plugin, with: { key: 'open-sesame' } }])
  assert.equal((await knock('Bearer open-sesame')).status, 200)
  assert.equal((await knock('Bearer open-sesam')).status, 401)
  assert.equal((await knock()).status, 401)
})
`,

  source: `${head}import { booted } from 'sallyport/testing'

test('its server is in the catalogue', async (t) => {
  const registries = [{ name: 'default', sources: ['mine'] }]
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    { use: plugin, with: { name: 'mine' } },
    { use: 'registry/catalogue', with: { registries, stateDirectory: null } },
    { use: 'registry/api', with: { anonymous: true } },
  ])
  const url = '/registry/default/v0.1/servers/com.example%2Fhello/versions/latest'
  for (const end = Date.now() + 5000; Date.now() < end; ) {
    if ((await app.inject(url)).statusCode === 200) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.fail('it did not come')
})
`,

  headers: `${head}import { HeaderSource } from 'sallyport'
import { booted } from 'sallyport/testing'

test('the header is added', async (t) => {
  let added: unknown
  const looking = {
    name: 'looking',
    api: 1,
    setup(gateway: import('sallyport').Gateway) {
      const sources = gateway.use(HeaderSource)
      gateway.http.get('/', async (request) => {
        added = sources().flatMap((source) => source.headers(request))
      })
    },
  }
  const app = await booted(t, [{ use: 'auth/anonymous' }, { use: plugin, with: { gateway: 'mine' } }, { use: looking }])
  await app.inject('/')
  assert.deepEqual(added, [['x-gateway', 'mine']])
})
`,

  audit: `${head}import { booted, recordedLog } from 'sallyport/testing'

test('a refusal is written down', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin }], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.ok(lines.some(({ msg }) => msg === 'refused'))
})
`,
}
