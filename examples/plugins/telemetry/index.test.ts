import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted, contractSuite, fakeClock, recordedLog } from 'sallyport/testing'
import plugin from './index.js'

test('a request that was refused is counted, and told when it is time', async (t) => {
  const clock = fakeClock(t)
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: plugin, with: { every: 60 } }], { log })
  await app.inject('/')
  const told = () => lines.filter(({ msg }) => msg === 'measured')
  await clock.advance(59_999)
  assert.equal(told().length, 0)
  await clock.advance(1)
  assert.match(JSON.stringify(told()), /sallyport_http_requests_total/)
})

contractSuite('my-telemetry', () => ({ list: [{ use: plugin }] }))
