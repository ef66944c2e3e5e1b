import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gatewayWith, type Issuer, issuing, providerFaults } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'

async function gate(t: TestContext, issuer: Issuer, unavailableStatus?: 503, listening?: object) {
  const { introspectionUrl } = issuer
  const resource = {
    use: 'discovery/resource',
    with: { resource: 'https://here.example', unavailableStatus },
  }
  const entries = [
    ...(unavailableStatus === undefined ? [] : [resource]),
    { use: 'auth/introspection', with: { ...issuer.provider, introspectionUrl } },
  ]
  const { url, lines } = await gatewayWith(t, entries, listening)
  const from = (localAddress: string, token: string, more: object = {}) =>
    new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, ...more }
      const asked = request(url, { agent: false, localAddress, headers }, (response) => {
        response.resume()
        const { statusCode: status = 0, headers: responseHeaders } = response
        resolve({ status, retryAfter: responseHeaders['retry-after'] })
      })
      asked.on('error', reject).end()
    })
  return { from, ask: (token: string) => from('127.0.0.1', token), lines }
}

/** Responds to the introspection of tokens that begin with `made-up` only when the test says so. */
function heldIntrospections(issuer: Issuer) {
  const held: (() => void)[] = []
  issuer.faults.set('/introspect', (_request, response) => {
    const { body } = issuer.asked.at(-1) ?? { body: '' }
    const answer = (active: boolean) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(active ? { active, ...issuer.claims() } : { active }))
    if (new URLSearchParams(body).get('token')?.startsWith('made-up') === true) held.push(() => answer(false))
    else answer(true)
  })
  return held
}

const answerAll = (held: (() => void)[]): void => {
  for (const answer of held.splice(0)) answer()
}

const madeUp = (count: number) => Array.from({ length: count }, (_, index) => `made-up-${index}`)

test('an address at its limit of concurrent introspections does not block other addresses', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const issuer = await issuing(t)
  const held = heldIntrospections(issuer)
  const { from } = await gate(t, issuer)
  const flood = madeUp(300).map((token) => from('127.0.0.1', token))
  await eventually(() => held.length === 64)
  for (let count = 0; count < 20; count++) {
    assert.equal((await from('127.0.0.2', `good-${count}`)).status, 200)
  }
  assert.equal(held.length, 64)
  const drain = setInterval(() => answerAll(held), 5)
  t.after(() => clearInterval(drain))
  const answers = await Promise.all(flood)
  const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length
  // 64 were introspected, 64 queued until their time limit, and all others got a 503.
  assert.ok(count(401) >= 64 && count(401) <= 128, String(count(401)))
  assert.equal(count(401) + count(503), 300)
  assert.ok(answers.every(({ status, retryAfter }) => status === 401 || retryAfter === '1'))
})

test('behind a trusted proxy each client has its own limit of concurrent introspections', async (t) => {
  const issuer = await issuing(t)
  const held = heldIntrospections(issuer)
  const { from } = await gate(t, issuer, undefined, { trustedProxies: ['127.0.0.1'] })
  const of = (client: string, token: string) => from('127.0.0.1', token, { 'x-forwarded-for': client })
  const flood = madeUp(100).map((token) => of('192.0.2.1', token))
  await eventually(() => held.length === 64)
  assert.equal((await of('192.0.2.2', 'good')).status, 200)
  const drain = setInterval(() => answerAll(held), 5)
  t.after(() => clearInterval(drain))
  await Promise.all(flood)
})

for (const unavailableStatus of [undefined, 503] as const) {
  test(`too many concurrent introspections get 503 with Retry-After, with unavailableStatus ${unavailableStatus ?? 'unset'}`, async (t) => {
    const issuer = await issuing(t)
    const held = heldIntrospections(issuer)
    const { ask, lines } = await gate(t, issuer, unavailableStatus)
    const flood = madeUp(128).map(ask)
    await eventually(() => held.length === 64)
    const answers = await Promise.all(['good', 'other'].map(ask))
    assert.deepEqual(answers, [
      { status: 503, retryAfter: '1' },
      { status: 503, retryAfter: '1' },
    ])
    assert.equal(lines.filter(({ msg }) => msg === 'refused').at(-1)?.['cause'], 'introspection:busy')
    const drain = setInterval(() => answerAll(held), 5)
    t.after(() => clearInterval(drain))
    await Promise.all(flood)
    assert.equal((await ask('good')).status, 200)
  })
}

for (const fault of ['a server that hangs up', '10 MB', 'half an answer'] as const) {
  test(`one token that causes ${fault} does not block other tokens`, async (t) => {
    const issuer = await issuing(t)
    const { ask } = await gate(t, issuer)
    const good = () => {
      const token = issuer.opaque()
      return ask(token)
    }
    issuer.faults.set('/introspect', (asked, response) => {
      const token = new URLSearchParams(issuer.asked.at(-1)?.body).get('token')
      if (token === 'cursed') return providerFaults[fault]?.(asked, response)
      const answer = { active: true, ...issuer.claims() }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    for (let round = 0; round < 10; round++) {
      for (let count = 0; count < 3; count++) assert.equal((await ask('cursed')).status, 401)
      assert.equal((await good()).status, 200)
    }
  })
}

test('concurrent failures count as one: the backoff after them is the shortest', async (t) => {
  const issuer = await issuing(t)
  const { ask } = await gate(t, issuer)
  const cut: (() => void)[] = []
  issuer.faults.set('/introspect', ({ socket }) => cut.push(() => socket.destroy()))
  const failing = madeUp(40).map(ask)
  await eventually(() => cut.length === 40)
  for (const each of cut) each()
  await Promise.all(failing)

  issuer.faults.delete('/introspect')
  const since = performance.now()
  await eventually(async () => (await ask(issuer.opaque())).status === 200)
  assert.ok(performance.now() - since < 4000, String(performance.now() - since))
})

test('requests that were queued when the provider went down are not sent to it', async (t) => {
  const issuer = await issuing(t)
  const { ask } = await gate(t, issuer)
  const cut: (() => void)[] = []
  let isDown = false
  issuer.faults.set('/introspect', ({ socket }) => {
    if (isDown) socket.destroy()
    else cut.push(() => socket.destroy())
  })
  const flood = madeUp(100).map(ask)
  await eventually(() => cut.length === 64)
  isDown = true
  for (const each of cut) each()
  await Promise.all(flood)
  assert.ok(issuer.times('/introspect') < 70, String(issuer.times('/introspect')))
})
