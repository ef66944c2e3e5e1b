import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, plugin } from '#kit/plugin.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { send } from '../../plugins/forward/proxied.js'

test('a drain keeps to its limit when the system clock goes back an hour', async (t) => {
  const clock = twoClocks(t)
  const never = plugin('never', ({ http }) => void http.get('/', () => new Promise(() => {})))
  const running = await serving(t, [listen, { use: 'auth/anonymous' }, never])
  const main = running.addresses.main ?? ''
  const asked = send(main).catch(() => 'cut off')
  await eventually(async () => (await send(main, { path: '/nothing' })).status === 404)
  let stopped = false
  void running.stop(1000).then(() => {
    stopped = true
  })
  // The ports are closed, and the stop waits for the requests in flight.
  const isShut = () =>
    send(main, { path: '/nothing' }).then(
      () => false,
      () => true,
    )
  await eventually(isShut)
  clock.set(-HOUR)
  await eventually(() => stopped, 6)
  assert.equal(await asked, 'cut off')
})
