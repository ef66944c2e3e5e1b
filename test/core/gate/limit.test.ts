import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Guard, type Identity, Limiter, type LimitKey, type List, Policy, Refusal } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { corp } from '#kit/corp.js'
import { mcpPlugin, providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { routes } from './gated-routes.js'

type Take = Limiter['take']

const limiting = (take: Take) => providing('limiting', Limiter, { take })

const withToken = (token: string, url = '/closed') => ({ url, headers: { authorization: `Bearer ${token}` } })

/** A list, and the keys that its limiter got. */
function counted(answer: Take = () => 0): {
  readonly list: List
  readonly keys: (LimitKey & { cost: number })[]
} {
  const keys: (LimitKey & { cost: number })[] = []
  const take: Take = (key, cost) => {
    keys.push({ caller: key.caller, address: key.address, cost })
    return answer(key, cost)
  }
  return { list: [routes, limiting(take), corp()], keys }
}

test('admitted requests count by caller and address, requests without credentials by address alone', async (t) => {
  const { list, keys } = counted()
  const app = await booted(t, list)

  for (const [request, status] of [
    [withToken('alice'), 200],
    [withToken('alice', '/nowhere'), 404],
    [{ url: '/closed' }, 401],
    [{ url: '/open' }, 200],
  ] as const)
    assert.equal((await app.inject(request)).statusCode, status)

  const address = '127.0.0.1'
  assert.deepEqual(keys, [
    { caller: '["corp","alice"]', address, cost: 1 },
    { caller: '["corp","alice"]', address, cost: 1 },
    { caller: undefined, address, cost: 1 },
    { caller: address, address, cost: 1 },
  ])
})

test('requests that a guard refuses do not count', async (t) => {
  const { list, keys } = counted()
  const closed = providing('closed', Guard, () => {
    throw new Refusal(403, 'CLOSED', 'come back in the morning')
  })
  const app = await booted(t, [closed, ...list])

  assert.equal((await app.inject(withToken('alice'))).statusCode, 403)
  assert.deepEqual(keys, [])
})

test('in anonymous mode the caller is the address', async (t) => {
  const callers: unknown[] = []
  const limiter = limiting(({ caller }) => {
    callers.push(caller)
    return 0
  })
  const app = await booted(t, [routes, { use: 'auth/anonymous' }, limiter])

  await app.inject({ url: '/closed', remoteAddress: '192.0.2.7' })

  assert.deepEqual(callers, ['192.0.2.7'])
})

for (const [how, answer] of [
  ['at once', () => 1_001],
  ['later', async () => 1_001],
] as const) {
  test(`a request over the limit is 429 with whole seconds to wait, if the limiter answers ${how}`, async (t) => {
    const { list } = counted(answer)
    const app = await booted(t, list)

    const { statusCode, headers, body } = await app.inject(withToken('alice'))
    assert.deepEqual([statusCode, headers['retry-after'], headers['cache-control']], [429, '2', 'no-store'])
    assert.equal(JSON.parse(body).error, 'too_many_requests')
    // Guesses at tokens count too, and get 429 instead of the verdict on the token.
    assert.equal((await app.inject('/closed')).statusCode, 429)
  })
}

test('the log names the limit that a request exceeded, and the response does not', async (t) => {
  const { list } = counted(() => ({ wait: 1_001, limit: 'limits[7]' }))
  const { log, lines } = recordedLog()
  const app = await booted(t, list, { log })
  const { statusCode, headers, body } = await app.inject(withToken('alice'))
  assert.deepEqual([statusCode, headers['retry-after']], [429, '2'])
  assert.doesNotMatch(body + JSON.stringify(headers), /limits/)
  const refused = await eventually(() => lines.find(({ msg }) => msg === 'refused'))
  assert.deepEqual(refused['reasons'], [
    { provider: 'limit', cause: 'too_many_requests', detail: 'limits[7]' },
  ])
})

test('a request that could never be admitted has no Retry-After', async (t) => {
  const { list } = counted(() => Number.POSITIVE_INFINITY)
  const { statusCode, headers } = await (await booted(t, list)).inject(withToken('alice'))
  assert.deepEqual([statusCode, headers['retry-after']], [429, undefined])
})

for (const [what, answer] of Object.entries({
  'throws an error': () => {
    throw new Error('no')
  },
  'rejects with an error': () => Promise.reject(new Error('no')),
  'answers something else': () => true as never,
  'answers no number': async () => Number.NaN,
  'answers no limit': () => ({ wait: 1_000, limit: 7 as never }),
  'answers a limit without a wait': () => ({ wait: 0, limit: 'limits[0]' }),
  'never answers': () => new Promise<number>(() => {}),
} satisfies Record<string, Take>)) {
  test(`a limiter that ${what} admits no request`, async (t) => {
    const { list } = counted(answer)
    const app = await booted(t, list, { gateDeadline: 50 })
    const { statusCode, body } = await app.inject(withToken('alice'))
    assert.deepEqual([statusCode, JSON.parse(body).error], [503, 'limit_unavailable'])
  })
}

test('a scope is limited by the list around it, or by a limiter of its own', async (t) => {
  const { list, keys } = counted()
  const own = counted(() => 5_000)
  const inner = own.list.slice(0, 2)
  const app = await booted(t, [
    { scope: '/outer', plugins: [routes] },
    { scope: '/own', plugins: inner },
    ...list,
  ])

  assert.equal((await app.inject(withToken('alice', '/outer/closed'))).statusCode, 200)
  assert.equal((await app.inject(withToken('alice', '/own/closed'))).statusCode, 429)
  assert.deepEqual([keys.length, own.keys.length], [1, 1])
})

test('two callers never share a key, nor does a caller with an address, whatever their names are', async (t) => {
  const identities = new Map<string, Partial<Identity>>()
  const names: unknown[] = []
  const app = await booted(t, [
    routes,
    corp((token) => identities.get(token) ?? {}),
    limiting(({ caller, address }) => {
      names.push(caller)
      assert.notEqual(caller, address)
      return 0
    }),
  ])
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '"', '","', '127.0.0.1', '\ud800', '\\'),
  )
  const identity = fc.record({ provider: text, subject: text })
  await fc.assert(
    fc.asyncProperty(identity, identity, async (one, other) => {
      identities.set('one', one).set('other', other)
      names.length = 0
      await app.inject(withToken('one'))
      await app.inject(withToken('other'))
      const isSame = one.provider === other.provider && one.subject === other.subject
      assert.equal(names[0] === names[1], isSame)
    }),
    { numRuns: runs(200) },
  )
})

const mcp = mcpPlugin('mcp', ({ http }) => void http.post('/mcp', { config: { mcp: true } }, () => 'here'))

test('calls are counted after their request, for the same key, and are 429 over the limit', async (t) => {
  const keys: unknown[] = []
  const limiter = providing('counting', Limiter, {
    take({ caller }) {
      keys.push(['take', caller])
      return 0
    },
    async takeCalls({ caller }, { calls }) {
      keys.push([calls.length, caller])
      return calls.length > 1 ? 1_500 : 0
    },
  })
  const app = await booted(t, [mcp, limiter, corp()])
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const send = (payload: object) => app.inject({ method: 'POST', payload, ...withToken('alice', '/mcp') })

  assert.equal((await send(ping)).statusCode, 200)
  const { statusCode, headers } = await send([ping, ping])
  assert.deepEqual([statusCode, headers['retry-after']], [429, '2'])
  const caller = '["corp","alice"]'
  assert.deepEqual(keys, [
    ['take', caller],
    [1, caller],
    ['take', caller],
    [2, caller],
  ])
})

test('where policies judge calls, a limiter that counts no calls admits them', async (t) => {
  const limiter = providing('counting', Limiter, { take: () => 0 })
  const policy = providing('judging', Policy, { judge: () => ({ allowed: true }), shows: () => [] })
  const app = await booted(t, [mcp, limiter, policy, corp()])
  const payload = { jsonrpc: '2.0', id: 1, method: 'ping' }

  const { statusCode } = await app.inject({ method: 'POST', payload, ...withToken('alice', '/mcp') })
  assert.equal(statusCode, 200)
})

test('a limiter that returns no answer about calls admits none', async (t) => {
  const limiter = providing('counting', Limiter, { take: () => 0, takeCalls: () => undefined as never })
  const app = await booted(t, [mcp, limiter, corp()])
  const payload = { jsonrpc: '2.0', id: 1, method: 'ping' }

  const { statusCode, body } = await app.inject({ method: 'POST', payload, ...withToken('alice', '/mcp') })
  assert.deepEqual([statusCode, JSON.parse(body).error], [503, 'limit_unavailable'])
})
