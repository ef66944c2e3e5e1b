import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { opened } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { CallbackListener } from '#plugins/credential/oauth/callback-listener.js'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

interface CallbackRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A request to the callback listener, as any program on this machine can send one. */
const callbackStatus = (origin: string, { method = 'GET', path, headers = {} }: CallbackRequest) =>
  new Promise<number>((resolve, reject) => {
    const sent = httpRequest(origin, { method, path, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })

/** A login that waits for its callback. */
async function pendingLogin(t: TestContext, options = {}, metadata = {}, context = {}) {
  const server = await startAuthorizationServer(t)
  server.metadata = metadata
  const { next } = signInUser(t, () => {})
  const { main, lines, running } = await proxyWithLogin(t, server.target, options, {}, context)
  const answer = send(main, call(1))
  const page = new URL(await next())
  const callback = new URL(page.searchParams.get('redirect_uri') ?? '')
  const state = page.searchParams.get('state') ?? ''
  return { server, answer, page, callback, state, lines, running, main }
}

const closed = (callback: URL | string): Promise<unknown> =>
  eventually(() =>
    fetch(callback).then(
      () => undefined,
      () => true,
    ),
  )

test('callbacks without the right state change nothing, and the right one then succeeds once (T5, CL-06)', async (t) => {
  const { server, answer, page, callback, state } = await pendingLogin(t)
  const wrong: readonly (readonly [number, CallbackRequest])[] = [
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
  for (const [status, sent] of wrong) {
    assert.equal(await callbackStatus(callback.origin, sent), status, JSON.stringify(sent))
  }
  assert.equal(server.times('/token'), 0)

  const right = await fetch(page)
  assert.equal(right.status, 200)
  assert.equal((await answer).status, 200)
  assert.equal(server.times('/token'), 1)
  await closed(right.url)
})

test('a second callback with the same state is refused while the first is handled (T5)', async (t) => {
  const { server, answer, page } = await pendingLogin(t)
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
  ['none, and none advertised', false, undefined, true],
  ['the right one, not advertised', false, 'right', true],
  ['the right one, as advertised', true, 'right', true],
  ['none, though advertised', true, undefined, false],
  ['another', false, 'https://evil.example', false],
  ['another, though advertised', true, 'https://evil.example', false],
  ['one that differs by a slash', true, 'right/', false],
  ['one in capitals', true, 'RIGHT', false],
]
for (const [what, advertised, iss, accepted] of issuers) {
  test(`an authorization response with ${what} as issuer is ${accepted ? 'accepted' : 'refused'} (T4, CL-07)`, async (t) => {
    const metadata = { authorization_response_iss_parameter_supported: advertised }
    const { server, answer, page } = await pendingLogin(t, {}, metadata)
    const named = iss?.replace('right', server.origin).replace('RIGHT', server.origin.toUpperCase())
    server.callback = { iss: named }

    const body = await (await fetch(page)).text()
    assert.equal((await answer).status, accepted ? 200 : 503)
    assert.equal(server.times('/token'), accepted ? 1 : 0)
    assert.doesNotMatch(body, /evil/)
  })
}

test('the issuer of an error response is checked first, and the text of another issuer is not shown (T4)', async (t) => {
  const { server, answer, page, lines } = await pendingLogin(t)
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

test('the page at the end of a login says what to do next, and holds only text', async (t) => {
  const { answer, page } = await pendingLogin(t)
  const response = await fetch(page)
  const body = await response.text()
  assert.equal((await answer).status, 200)

  assert.match(body, /<h1>You are signed in<\/h1>\s*<p>You can close this window/)
  assert.doesNotMatch(body, /<script|src=|href=|https?:/)
  // The URL holds the code: it must not be cached, nor sent as a referrer.
  const { headers } = response
  assert.deepEqual(
    ['content-type', 'cache-control', 'referrer-policy'].map((name) => headers.get(name)),
    ['text/html; charset=utf-8', 'no-store', 'no-referrer'],
  )
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
})

test('an error ends the login at once, and its text is escaped on the page (CL-34)', async (t) => {
  const { server, answer, page } = await pendingLogin(t, { timeout: '60s' })
  server.callback = {
    code: undefined,
    error: 'access_denied',
    error_description: '<script>alert(1)</script>"&\u202e',
  }
  const started = Date.now()
  const response = await fetch(page)
  const body = await response.text()
  const { status, body: errorBody } = await answer

  assert.ok(Date.now() - started < 5000)
  assert.equal(status, 503)
  assert.match(errorBody, /access_denied/)
  assert.match(body, /&lt;script&gt;/)
  assert.doesNotMatch(body, /<script|\u202e/)
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.equal(server.times('/token'), 0)
})

test('the time limits end the waiting requests and close the port (CL-35, T6)', async (t) => {
  const { answer, callback } = await pendingLogin(t, { timeout: '300ms', signInTimeout: '400ms' })
  const { status, headers } = await answer
  assert.deepEqual([status, headers['retry-after']], [503, '5'])
  await closed(callback)
})

test('a sign-in goes on after the request that began it, and the next request uses its token', async (t) => {
  const { answer, page, main } = await pendingLogin(t, { timeout: '300ms' })
  const { status, body } = await answer
  assert.equal(status, 503)
  const { message } = JSON.parse(body).error
  assert.match(message, /--remote-auth-timeout/)
  // A caller with the URL could sign in with another account, and all callers would use that session.
  assert.ok(!body.includes(page.searchParams.get('state') ?? ''), body)

  assert.match(await (await fetch(page)).text(), /You are signed in/)
  assert.equal((await send(main, call(2))).status, 200)
})

test('with `tellsCallers` the error for the caller names the sign-in page', async (t) => {
  const { answer, page } = await pendingLogin(t, { timeout: '300ms', tellsCallers: true })
  const { message } = JSON.parse((await answer).body).error
  assert.ok(message.includes(`sign in at ${page.href} `), message)
})

test('the callback can be reached from this machine only (T6, CL-18)', async (t) => {
  const { callback, page, answer } = await pendingLogin(t)
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
  // 127.0.0.2 exists without a network too, and a server that listens on all addresses listens on it.
  for (const address of ['127.0.0.2', ...others]) {
    await assert.rejects(fetch(`http://${address}:${callback.port}/callback`), address)
  }
  await fetch(page)
  assert.equal((await answer).status, 200)
})

test('a callback port in use stops a start that needs it; otherwise another one is used', async (t) => {
  const { port: callbackPort } = await opened(t, createServer())
  const server = await startAuthorizationServer(t)
  signInUser(t)

  const options = { login: 'start', callbackPort }
  await assert.rejects(proxyWithLogin(t, server.target, { ...options, callbackPortFixed: true }), {
    code: 'CONFIG_INVALID',
  })
  const { main } = await proxyWithLogin(t, server.target, options)
  assert.equal((await send(main, call(1))).status, 200)
})

test('a stop in the middle of a login closes its port', async (t) => {
  const { answer, callback, running } = await pendingLogin(t)
  const stopped = running.stop(0)
  await answer.catch(() => {})
  await stopped
  await closed(callback)
})

test('a reload ends a login in progress, so that its port is free for the next login', async (t) => {
  const { answer, callback, running } = await pendingLogin(t, {}, {}, { drainLimit: 20 })
  await running.swap([listen, { use: 'auth/anonymous' }])
  await closed(callback)
  assert.equal((await answer).status, 503)
})

test('a browser that waits for a second login shows its failure, and a pasted callback has no browser', async () => {
  const listener = await CallbackListener.open(0, false)
  const pasted = listener.waitForCallback('a')
  assert.ok(listener.paste(`${listener.redirectUri}?state=a`))
  listener.keepWaiting(await pasted)
  assert.equal(listener.redirectWaiting(new URL('https://issuer.test/auth')), false)

  const browsed = listener.waitForCallback('b')
  const page = fetch(`${listener.redirectUri}?state=b`)
  listener.keepWaiting(await browsed)
  await listener.close()
  assert.match(await (await page).text(), /Signing in failed/)
})
