import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, fakeClock, recordedLog } from 'sallyport/testing'
import plugin from './index.js'

test('the plugin counts a refused request, and logs the sum after the interval', async (t) => {
  const clock = fakeClock(t)
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin, with: { every: 60 } }], { log })
  await app.inject('/')
  const logged = () => lines.filter(({ msg }) => msg === 'measured')
  await clock.advance(59_999)
  assert.equal(logged().length, 0)
  await clock.advance(1)
  assert.match(JSON.stringify(logged()), /sallyport_http_requests_total/)
})

contractSuite('my-telemetry', () => ({ list: [{ use: plugin }] }))
