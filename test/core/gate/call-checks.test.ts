import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Guard, type Judgement, type List, type PolicyQuestion } from 'sallyport'
import { booted, recordedLog, serving } from '#kit/booted.js'
import { corp } from '#kit/corp.js'
import { listen, mcpPlugin, providing } from '#kit/plugin.js'
import { dial, sendRaw } from '#kit/raw.js'
import { ALLOWED, JSON_TYPE, mcpRoute, policy, toolCall } from './judged.js'

type App = Awaited<ReturnType<typeof booted>>

const list = (...more: List): List => [mcpRoute, corp(), ...more]

const call = (app: App, payload: object, url = '/mcp') =>
  app.inject({ method: 'POST', url, payload, headers: { ...JSON_TYPE, authorization: 'Bearer alice' } })

const nameOf = ({ subject }: PolicyQuestion): string => subject?.name ?? ''
const denial = (scopes?: readonly string[]): Judgement => ({
  allowed: false,
  reason: 'not for you',
  rule: 'rules.0',
  ...(scopes !== undefined && { scopes }),
})
const denies = (name: string, scopes?: readonly string[]) => (question: PolicyQuestion) =>
  nameOf(question) === name ? denial(scopes) : ALLOWED

test('after authentication every policy judges each call and each subject of it', async (t) => {
  const asked: unknown[] = []
  const note = (of: string) => (question: PolicyQuestion) => {
    asked.push([of, question.identity?.subject, question.call.kind, question.call.method, nameOf(question)])
    return ALLOWED
  }
  const app = await booted(t, list(policy(note('one'), 'one'), policy(note('two'), 'two')))
  const listen = { resourceSubscriptions: ['u:1', 'u:2'] }

  assert.equal((await app.inject({ method: 'POST', url: '/mcp', payload: toolCall('a') })).statusCode, 401)
  assert.deepEqual(asked, [])
  const batch = [
    toolCall('a'),
    { jsonrpc: '2.0', id: 2, method: 'subscriptions/listen', params: { notifications: listen } },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 3, result: {} },
  ]
  assert.equal((await call(app, batch)).statusCode, 200)
  assert.deepEqual(
    asked,
    [
      ['request', 'tools/call', 'a'],
      ['request', 'subscriptions/listen', 'u:1'],
      ['request', 'subscriptions/listen', 'u:2'],
      ['notification', 'notifications/initialized', ''],
      ['response', '', ''],
    ].flatMap((each) => ['one', 'two'].map((of) => [of, 'alice', ...each])),
  )
})

for (const [how, settle] of [
  ['at once', (judgement: Judgement) => judgement],
  ['later', async (judgement: Judgement) => judgement],
] as const) {
  test(`a call that one policy denies is 403, if the policy answers ${how}, and the log has the rule`, async (t) => {
    const { log, lines } = recordedLog()
    const judge = denies('secret')
    const app = await booted(
      t,
      list(
        policy(() => ALLOWED, 'other'),
        policy((question) => settle(judge(question))),
      ),
      { log },
    )

    assert.equal((await call(app, toolCall('open'))).statusCode, 200)
    for (const body of [toolCall('secret'), [toolCall('open'), toolCall('secret'), toolCall('open')]]) {
      const { statusCode, body: answer, headers } = await call(app, body)
      assert.equal(statusCode, 403)
      const { error, error_description } = JSON.parse(answer)
      assert.deepEqual([error, error_description], ['policy_denied', 'not for you'])
      assert.equal(headers['www-authenticate'], undefined)
    }
    const refused = lines.find(({ msg }) => msg === 'refused')
    assert.deepEqual(refused?.['reasons'], [{ provider: 'policy', cause: 'denied', detail: 'rules.0' }])
    assert.equal(refused?.['cause'], 'denied')
  })
}

test('the challenge names all missing scopes at once, if nothing else is missing', async (t) => {
  const app = await booted(
    t,
    list(
      { use: 'discovery/resource', with: { resource: 'https://mcp.example/mcp', scopes: ['other'] } },
      policy(
        (question) => (nameOf(question) === 'both' ? denial(['c']) : denies('a', ['a', 'b'])(question)),
        'one',
      ),
      policy(
        (question) => (nameOf(question) === 'both' ? denial(['d', 'c']) : denies('hard')(question)),
        'two',
      ),
    ),
  )
  const scopesFor = async (...names: string[]) => {
    const { statusCode, headers, body } = await call(
      app,
      names.map((name) => toolCall(name)),
    )
    assert.equal(statusCode, 403)
    const challenge = String(headers['www-authenticate'] ?? '')
    if (challenge !== '') {
      assert.equal(JSON.parse(body).error, 'insufficient_scope')
      assert.match(challenge, /^Bearer .*error="insufficient_scope"/)
      assert.match(
        challenge,
        /resource_metadata="https:\/\/mcp\.example\/\.well-known\/oauth-protected-resource\/mcp"/,
      )
    }
    return /scope="([^"]*)"/.exec(challenge)?.[1]
  }

  assert.equal(await scopesFor('a'), 'a b')
  assert.equal(await scopesFor('both'), 'c d')
  assert.equal(await scopesFor('both', 'a'), 'c d a b')
  assert.equal(await scopesFor('a', 'hard'), undefined)
  assert.equal(await scopesFor('hard', 'a'), undefined)
})

test('a list without a challenge plugin names the missing scopes too', async (t) => {
  const app = await booted(t, list(policy(() => denial(['tools:delete']))))
  const { headers } = await call(app, toolCall('a'))
  assert.equal(headers['www-authenticate'], 'Bearer error="insufficient_scope", scope="tools:delete"')
})

for (const [what, judge] of Object.entries({
  'throws an error': () => {
    throw new Error('no')
  },
  'rejects with an error': () => Promise.reject(new Error('no')),
  'answers undefined': () => undefined as never,
  'answers true': () => true as never,
  'answers later with no judgement': async () => ({ allowed: 'true' }) as never,
  'gives no reason': () => ({ allowed: false }) as never,
  'names two scopes as one': () => denial(['a b']),
  'names a scope with a quote': () => denial(['a"']),
  'names an empty scope': () => denial(['']),
  'never answers': () => new Promise<Judgement>(() => {}),
} satisfies Record<string, () => Judgement | Promise<Judgement>>)) {
  test(`a policy that ${what} admits no call`, async (t) => {
    const app = await booted(
      t,
      list(
        policy(() => ALLOWED, 'other'),
        policy(judge),
      ),
      { gateDeadline: 50 },
    )
    const { statusCode, headers, body } = await call(app, toolCall('a'))
    assert.deepEqual([statusCode, JSON.parse(body).error], [503, 'policy_unavailable'])
    assert.equal(headers['retry-after'], '5')
  })
}

for (const [how, settle] of [
  ['at once', (judgement: Judgement) => judgement],
  ['later', async (judgement: Judgement) => judgement],
] as const) {
  test(`a thousand questions to a slow policy that answers ${how} block no other request, and end at the deadline`, async (t) => {
    let asked = 0
    let others = 0
    const slow = () => {
      asked++
      const until = performance.now() + 3
      while (performance.now() < until);
      return settle(ALLOWED)
    }
    const app = await booted(t, list(policy(slow)), { gateDeadline: 300 })
    const uris = Array.from({ length: 1_000 }, (_, index) => `u:${index}`)
    const params = { notifications: { resourceSubscriptions: uris } }
    const timer = setInterval(() => others++, 1)
    t.after(() => clearInterval(timer))

    const answer = await call(app, { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })

    assert.equal(JSON.parse(answer.body).error, 'policy_unavailable')
    assert.ok(others > 10, String(others))
    const before = asked
    await app.inject('/plain')
    assert.ok(before < 150 && asked - before < 3, String(asked))
  })
}

test('policies judge calls on public paths too, without an identity', async (t) => {
  const identities: unknown[] = []
  const judge = (question: PolicyQuestion): Judgement => {
    identities.push(question.identity)
    return denies('secret')(question)
  }
  const open = mcpPlugin(
    'open',
    ({ http }) => void http.post('/open', { config: { mcp: true, public: true } }, () => 'open'),
  )
  const app = await booted(t, list(open, policy(judge)))
  const post = async (name: string) =>
    (await app.inject({ method: 'POST', url: '/open', payload: toolCall(name) })).statusCode
  assert.deepEqual([await post('a'), await post('secret'), identities], [200, 403, [undefined, undefined]])
})

test('a request without a message passes if it has no body, and one that policies cannot judge is refused', async (t) => {
  const app = await booted(t, list(policy(() => denial())))
  const ask = async (method: string, payload?: string, url = '/mcp') => {
    const headers = {
      authorization: 'Bearer alice',
      ...(payload !== undefined && { 'content-type': 'text/plain' }),
    }
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers,
      ...(payload !== undefined && { payload }),
    })
    return [
      response.statusCode,
      response.body === '' || response.statusCode === 200 ? '' : JSON.parse(response.body).error,
    ]
  }
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) assert.deepEqual(await ask(method), [200, ''])
  for (const method of ['GET', 'OPTIONS', 'DELETE'])
    assert.deepEqual(await ask(method, JSON.stringify(toolCall('a'))), [400, 'body_unexpected'], method)
  for (const method of ['PUT', 'PATCH'])
    assert.deepEqual(await ask(method, '{}'), [403, 'policy_cannot_judge'])
  assert.deepEqual(
    await ask('POST', 'any text', '/plain'),
    [200, ''],
    'a route to no MCP server is not judged',
  )
})

test('the policies of outer scopes apply in an inner scope, and its own besides', async (t) => {
  const app = await booted(t, [
    { scope: '/inner', plugins: [mcpRoute, policy(denies('inner'), 'inner')] },
    ...list(policy(denies('outer'), 'outer')),
  ])
  const status = async (url: string, name: string) => (await call(app, toolCall(name), url)).statusCode
  assert.deepEqual(
    [
      await status('/inner/mcp', 'a'),
      await status('/inner/mcp', 'inner'),
      await status('/inner/mcp', 'outer'),
    ],
    [200, 403, 403],
  )
  assert.deepEqual([await status('/mcp', 'inner'), await status('/mcp', 'outer')], [200, 403])
})

test('no body is read of a request that a guard, an authenticator or the limiter refuses', async (t) => {
  const refuses = providing('refuses', Guard, ({ headers }) => {
    if (headers['x-guarded'] !== undefined) throw new Error('no')
  })
  const { addresses } = await serving(t, [
    listen,
    ...list(
      policy(() => ALLOWED),
      refuses,
      { use: 'limit/requests', with: { limits: [{ by: 'caller', rate: '1/1m' }] } },
    ),
  ])
  const main = addresses.main ?? ''
  const head = (...headers: string[]) =>
    [
      ...['POST /mcp HTTP/1.1', 'Host: a', 'Content-Type: application/json'],
      ...headers,
      'Expect: 100-continue',
      'Content-Length: 9',
      '',
      '',
    ].join('\r\n')
  const first = async (bytes: string): Promise<string> => {
    const socket = dial(main)
    t.after(() => socket.destroy())
    socket.write(bytes)
    const [answer] = await once(socket, 'data')
    return String(answer).slice(9, 12)
  }
  assert.equal(await first(head()), '401')
  assert.equal(await first(head('Authorization: Bearer bob', 'X-Guarded: 1')), '503')
  assert.equal(await first(head('Authorization: Bearer bob')), '100')
  assert.equal(await first(head('Authorization: Bearer bob')), '429')
})

test('a body that never ends is 408 on a route that reads no body itself', async (t) => {
  const { addresses } = await serving(
    t,
    [listen, { use: 'auth/anonymous' }, mcpRoute, policy(() => ALLOWED)],
    { bodyDeadline: 50 },
  )
  const answer = await sendRaw(
    addresses.main ?? '',
    'POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  assert.match(answer, /^HTTP\/1.1 408 /)
  assert.match(answer, /connection: close/i)
})
