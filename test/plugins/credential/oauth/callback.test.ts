import assert from 'node:assert/strict'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../kit/captured-log.js'
import { asking, call } from '../../forward/proxied.js'
import { authorizing } from './authorization-server.js'
import { person, signingIn } from './signing-in.js'

interface Knock {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Knocks at the callback as anybody on this machine could. */
const knocking = (origin: string, { method = 'GET', path, headers = {} }: Knock) =>
  new Promise<{ status: number }>((resolve, reject) => {
    const knock = request(origin, { method, path, headers, agent: false }, (response) => {
      response.resume()
      resolve({ status: response.statusCode ?? 0 })
    })
    knock.on('error', reject)
    knock.end()
  })

/** A login that waits for its browser. */
async function waiting(t: TestContext, options = {}, metadata = {}) {
  const server = await authorizing(t)
  server.metadata = metadata
  const { next } = person(t, () => {})
  const { main, lines, running } = await signingIn(t, server.target, options)
  const answer = asking(main, call(1))
  const page = new URL(await next())
  const callback = new URL(page.searchParams.get('redirect_uri') ?? '')
  const state = page.searchParams.get('state') ?? ''
  return { server, answer, page, callback, state, lines, running }
}

test('whoever does not know the state changes nothing, and then the right callback succeeds once (T5, CL-06)', async (t) => {
  const { server, answer, page, callback, state } = await waiting(t)
  const wrong: readonly (readonly [number, Knock])[] = [
    [400, { path: '/callback' }],
    [400, { path: '/callback?error=access_denied' }],
    [400, { path: '/callback?code=x&state=' }],
    [400, { path: `/callback?code=x&state=${state.slice(1)}` }],
    [400, { path: `/callback?code=x&state=${state}x` }],
    [400, { path: `/callback?code=x&state=${state}&state=${state}` }],
    [400, { path: '/callback?code=x&state=%ff' }],
    [404, { path: `/?code=x&state=${state}` }],
    [404, { path: `/callback/?code=x&state=${state}` }],
    [404, { path: `/callbacks?code=x&state=${state}` }],
    [404, { path: `//callback?code=x&state=${state}` }],
    [404, { path: `http://[/callback?code=x&state=${state}` }],
    [405, { method: 'POST', path: `/callback?code=x&state=${state}` }],
    [405, { method: 'HEAD', path: `/callback?code=x&state=${state}` }],
    [403, { path: `/callback?code=x&state=${state}`, headers: { host: 'evil.example' } }],
    [403, { path: `/callback?code=x&state=${state}`, headers: { host: `evil.example:${callback.port}` } }],
  ]
  for (const [status, knock] of wrong) {
    assert.equal((await knocking(callback.origin, knock)).status, status, JSON.stringify(knock))
  }
  assert.equal(server.times('/token'), 0)

  const right = await fetch(page)
  assert.equal(right.status, 200)
  assert.equal((await answer).status, 200)
  assert.equal(server.times('/token'), 1)
  await eventually(() =>
    fetch(right.url).then(
      () => undefined,
      () => true,
    ),
  )
})

test('a second callback with the same state is refused while the first is worked on (T5)', async (t) => {
  const { server, answer, page } = await waiting(t)
  let second: number | undefined
  server.tokenFaults.push((response) => {
    fetch(back).then(({ status }) => {
      second = status
      response.writeHead(500).end()
    }, assert.fail)
  })
  const { headers } = await fetch(page, { redirect: 'manual' })
  const back = headers.get('location') ?? ''
  const first = await fetch(back)

  assert.deepEqual([first.status, second, (await answer).status], [200, 400, 503])
})

const issuers: readonly (readonly [string, boolean, string | undefined, boolean])[] = [
  ['none, and none was promised', false, undefined, true],
  ['the right one, without a promise', false, 'right', true],
  ['the right one, as promised', true, 'right', true],
  ['none, though promised', true, undefined, false],
  ['another', false, 'https://evil.example', false],
  ['another, though promised', true, 'https://evil.example', false],
  ['one that differs by a slash', true, 'right/', false],
  ['one in capitals', true, 'RIGHT', false],
]
for (const [what, advertised, iss, accepted] of issuers) {
  test(`an answer that names as issuer ${what} is ${accepted ? 'taken' : 'refused'} (T4, CL-07)`, async (t) => {
    const metadata = { authorization_response_iss_parameter_supported: advertised }
    const { server, answer, page } = await waiting(t, {}, metadata)
    const named = iss?.replace('right', server.origin).replace('RIGHT', server.origin.toUpperCase())
    server.callback = { iss: named }

    const body = await (await fetch(page)).text()
    assert.equal((await answer).status, accepted ? 200 : 503)
    assert.equal(server.times('/token'), accepted ? 1 : 0)
    assert.doesNotMatch(body, /evil/)
  })
}

test('the error of another issuer is judged by its issuer first, and its words are not shown (T4)', async (t) => {
  const { server, answer, page, lines } = await waiting(t)
  server.callback = {
    code: undefined,
    iss: 'https://evil.example',
    error: 'access_denied',
    error_description: 'call 555-EVIL',
  }
  const body = await (await fetch(page)).text()
  assert.doesNotMatch(body, /EVIL|access_denied/)
  assert.equal((await answer).status, 503)
  assert.doesNotMatch(JSON.stringify(lines), /EVIL/)
})

test('the page at the end of a login says so and what comes next, with nothing in it but its text', async (t) => {
  const { answer, page } = await waiting(t)
  const response = await fetch(page)
  const body = await response.text()
  assert.equal((await answer).status, 200)

  assert.match(body, /<h1>You are signed in<\/h1>\s*<p>You can close this window/)
  assert.doesNotMatch(body, /<script|src=|href=|https?:/)
  // The address holds the code: it must not be kept, nor told to where somebody goes from here.
  const { headers } = response
  assert.deepEqual(
    ['content-type', 'cache-control', 'referrer-policy'].map((name) => headers.get(name)),
    ['text/html; charset=utf-8', 'no-store', 'no-referrer'],
  )
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
})

test('an error ends the login at once, and its text is escaped on the page (CL-34)', async (t) => {
  const { server, answer, page } = await waiting(t, { timeout: '60s' })
  server.callback = {
    code: undefined,
    error: 'access_denied',
    error_description: '<script>alert(1)</script>"&\u202e',
  }
  const started = Date.now()
  const response = await fetch(page)
  const body = await response.text()
  const { status, body: told } = await answer

  assert.ok(Date.now() - started < 5000)
  assert.equal(status, 503)
  assert.match(told, /access_denied/)
  assert.match(body, /&lt;script&gt;/)
  assert.doesNotMatch(body, /<script|\u202e/)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.equal(server.times('/token'), 0)
})

test('the time limit frees the port and answers whoever waits (CL-35, T6)', async (t) => {
  const { answer, callback } = await waiting(t, { timeout: '300ms' })
  const { status, headers } = await answer
  assert.deepEqual([status, headers['retry-after']], [503, '5'])
  await assert.rejects(fetch(callback))
})

test('the callback can be reached from this machine only (T6, CL-18)', async (t) => {
  const { callback, page, answer } = await waiting(t)
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
  // A machine without a network has this one still, and whoever listens everywhere listens there.
  for (const address of ['127.0.0.2', ...others]) {
    await assert.rejects(fetch(`http://${address}:${callback.port}/callback`), address)
  }
  await fetch(page)
  assert.equal((await answer).status, 200)
})

test('a port in use stops a start that needs it, and else another is taken', async (t) => {
  const taken = createServer()
  await new Promise<void>((ready) => taken.listen(0, '127.0.0.1', ready))
  t.after(() => taken.close())
  const address = taken.address()
  const callbackPort = typeof address === 'object' ? address?.port : undefined
  const server = await authorizing(t)
  person(t)

  const options = { login: 'start', callbackPort }
  await assert.rejects(signingIn(t, server.target, { ...options, callbackPortFixed: true }), {
    code: 'CONFIG_INVALID',
  })
  const { main } = await signingIn(t, server.target, options)
  assert.equal((await asking(main, call(1))).status, 200)
})

test('a stop in the middle of a login leaves nothing open', async (t) => {
  const { answer, callback, running } = await waiting(t)
  const stopped = running.stop(0)
  await answer.catch(() => {})
  await stopped
  await eventually(() =>
    fetch(callback).then(
      () => undefined,
      () => true,
    ),
  )
})
