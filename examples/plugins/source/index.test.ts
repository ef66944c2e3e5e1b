import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, eventually } from 'sallyport/testing'
import plugin from './index.js'

test('the catalogue serves the servers of the source', async (t) => {
  const servers = {
    'com.example/one': 'https://one.example/mcp',
    'com.example/two': 'https://two.example/mcp',
  }
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    { use: plugin, with: { name: 'mine', servers } },
    {
      use: 'registry/catalogue',
      with: { registries: [{ name: 'default', sources: ['mine'] }] },
    },
    { use: 'registry/api', with: { anonymous: true } },
  ])
  for (const name of ['one', 'two']) {
    const url = `/registry/default/v0.1/servers/com.example%2F${name}/versions/latest`
    const found = await eventually(async () => {
      const { statusCode, body } = await app.inject(url)
      return statusCode === 200 ? body : undefined
    })
    assert.equal(JSON.parse(found).server.remotes[0].url, `https://${name}.example/mcp`)
  }
})

contractSuite('my-source', () => ({ list: [{ use: plugin, with: { name: 'mine' } }] }))
