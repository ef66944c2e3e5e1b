import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Guard } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { closed, providing } from '#kit/plugin.js'

const slip = (): never => {
  throw new TypeError('a bug')
}

for (const [how, guard] of [
  ['throws', slip],
  ['rejects', () => Promise.reject(new TypeError('a bug'))],
] as const) {
  test(`a guard that ${how} by a fault of its own is reported as its plugin, and admits no request`, async (t) => {
    const { log, lines } = recordedLog()
    const list = [{ use: 'auth/anonymous' }, providing('my-guard', Guard, guard), closed]
    const app = await booted(t, list, { log })

    const { statusCode, headers, body } = await app.inject('/')

    assert.deepEqual([statusCode, JSON.parse(body).error], [503, 'plugin_failed'])
    assert.ok(Number(headers['retry-after']) > 0)
    assert.ok(!body.includes('a bug'))
    const line = lines.find(({ msg }) => msg === 'refused')
    assert.deepEqual([line?.['provider'], line?.['cause']], ['my-guard', 'plugin_failed'])
  })
}

test('a guard that never answers is reported as a plugin that failed', async (t) => {
  const waits = providing('waits', Guard, () => new Promise<void>(() => {}))
  const app = await booted(t, [{ use: 'auth/anonymous' }, waits, closed], { gateDeadline: 50 })
  assert.equal(JSON.parse((await app.inject('/')).body).error, 'plugin_failed')
})
