import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, recordedLog } from 'sallyport/testing'
import plugin from './index.js'

test('a refusal is written down', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin }], { log })
  assert.equal((await app.inject('/')).statusCode, 401)
  assert.ok(lines.some(({ msg }) => msg === 'refused'))
})

contractSuite('my-audit', () => ({ list: [{ use: plugin }] }))
