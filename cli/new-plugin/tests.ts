import type { PluginKind } from './sources.js'

const head = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import plugin from './index.js'
`

/** The whole contract of its kind, clause by clause. */
const contract = (settings: string): string => `
contractSuite('NAME', () => ({ list: [{ use: plugin, with: ${settings} }] }))
`

/** The test that a new plugin comes with, by its kind. */
export const tests: Readonly<Record<PluginKind, string>> = {
  guard: `${head}import { booted, contractSuite } from 'sallyport/testing'

test('a path that is too long is refused, any other is not', async (t) => {
  const app = await booted(t, [{ use: plugin, with: { longest: 10 } }, { use: 'auth/anonymous' }])
  assert.equal((await app.inject('/short')).statusCode, 404)
  assert.equal((await app.inject('/much-too-long')).statusCode, 403)
})
${contract('{ longest: 10 }')}`,

  authenticator: `${head}import { contractSuite, gateOf } from 'sallyport/testing'

test('the key is let in, and nothing else is', async (t) => {
  const { knock } = await gateOf(t, [{ use: plugin, with: { key: 'open-sesame' } }])
  assert.equal((await knock('Bearer open-sesame')).status, 200)
  assert.equal((await knock('Bearer open-sesam')).status, 401)
  assert.equal((await knock()).status, 401)
})

contractSuite('NAME', () => ({
  list: [{ use: plugin, with: { key: 'open-sesame' } }],
  facts: { token: 'open-sesame' },
}))
`,

  credential: `${head}import { contractSuite, listening, serving } from 'sallyport/testing'

test('the target gets the key, and not what the caller sent', async (t) => {
  const target = await listening(t, ({ headers }, response) => response.end(JSON.stringify(headers)))
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: plugin, with: { key: 'a-key' } },
    { use: 'forward/http', with: { target } },
  ])
  const answer = await fetch(addresses.main ?? '', { headers: { 'x-api-key': 'mine', authorization: 'Bearer x' } })
  const seen: Record<string, string> = JSON.parse(await answer.text())
  assert.equal(seen['x-api-key'], 'a-key')
  assert.equal(seen['authorization'], undefined)
})
${contract("{ key: 'a-key' }")}`,

  secrets: `import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import plugin from './index.js'
import { contractSuite } from 'sallyport/testing'

contractSuite('NAME', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'secrets.json')
  writeFileSync(file, '{"db":"the password of it"}', { mode: 0o600 })
  return { list: [{ use: plugin, with: { file } }], facts: { secret: { name: 'db', value: 'the password of it' } } }
})
`,

  source: `${head}import { booted, contractSuite, eventually } from 'sallyport/testing'

test('its server is in the catalogue', async (t) => {
  const registries = [{ name: 'default', sources: ['mine'] }]
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    { use: plugin, with: { name: 'mine' } },
    { use: 'registry/catalogue', with: { registries, stateDirectory: null } },
    { use: 'registry/api', with: { anonymous: true } },
  ])
  const url = '/registry/default/v0.1/servers/com.example%2Fhello/versions/latest'
  await eventually(async () => ((await app.inject(url)).statusCode === 200 ? true : undefined))
})
${contract("{ name: 'mine' }")}`,

  headers: `${head}import { HeaderSource } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'

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
${contract("{ gateway: 'mine' }")}`,

  audit: `${head}import { booted, contractSuite, recordedLog } from 'sallyport/testing'

test('a refusal is written down', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin }], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.ok(lines.some(({ msg }) => msg === 'refused'))
})
${contract('undefined')}`,
}
