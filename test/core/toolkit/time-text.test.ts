import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { TimeText } from '#core/toolkit/time-text.js'

test('a time is the given millisecond in ISO 8601', (t) => {
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 0, 2, 3, 4, 5, 6) })
  t.after(() => mock.timers.reset())
  const text = new TimeText()
  assert.equal(text.of(Date.now()), '2030-01-02T03:04:05.006Z')
  assert.equal(text.of(Date.now()), '2030-01-02T03:04:05.006Z')
  mock.timers.tick(1)
  assert.equal(text.of(Date.now()), '2030-01-02T03:04:05.007Z')
  // A clock may be set back.
  mock.timers.setTime(Date.UTC(2029, 0))
  assert.equal(text.of(Date.now()), '2029-01-01T00:00:00.000Z')
})
