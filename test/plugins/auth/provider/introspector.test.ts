import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { UpstreamError } from 'sallyport'
import { recordedLog } from '#kit/booted.js'
import { twoClocks } from '#kit/two-clocks.js'
import { Introspector } from '#plugins/auth/provider/introspector.js'

/** A provider whose every introspection fails with this code; `asks` returns whether a token was sent to it. */
function failing(t: TestContext, code: string) {
  const clock = twoClocks(t, { stopped: true })
  let asked = 0
  let now = 0
  const introspector = new Introspector({
    provider: 'corp',
    url: 'https://idp.example/introspect',
    clientId: 'gateway',
    clientSecret: undefined,
    fetch: () => {
      asked++
      return Promise.reject(new UpstreamError(code, 'it fails'))
    },
    log: recordedLog().log,
    outcomes: () => {},
  })
  return {
    pass: (milliseconds: number): void => {
      now += milliseconds
      clock.passed(now)
    },
    asks: async (token: string): Promise<boolean> => {
      const before = asked
      await introspector.introspect(token, token, '192.0.2.1')
      return asked > before
    },
  }
}

test('a provider that cannot be reached is tried again after one, two and four seconds at most', async (t) => {
  const { asks, pass } = failing(t, 'EGRESS_REFUSED')
  assert.equal(await asks('a'), true)
  for (const most of [1_000, 2_000, 4_000]) {
    assert.equal(await asks('b'), false)
    pass(most / 2 - 1)
    assert.equal(await asks('b'), false)
    pass(most / 2 + 2)
    assert.equal(await asks('b'), true)
  }
})

test('one token without a response delays no other token, and two such tokens do', async (t) => {
  const { asks, pass } = failing(t, 'EGRESS_TIMEOUT')
  assert.deepEqual([await asks('a'), await asks('b'), await asks('c')], [true, true, false])
  pass(1_999)
  assert.equal(await asks('a'), false)
  pass(2)
  assert.equal(await asks('c'), true)
})

test('one token that gets no response again and again delays no other token for longer', async (t) => {
  const { asks, pass } = failing(t, 'EGRESS_TIMEOUT')
  assert.deepEqual([await asks('a'), await asks('b')], [true, true])
  for (let round = 0; round < 6; round++) {
    pass(3_001)
    assert.equal(await asks('a'), true)
  }
})
