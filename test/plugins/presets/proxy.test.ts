import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { type TestContext, test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { recordedLog, serving } from '#kit/booted.js'
import { issuing } from '#kit/issuer.js'
import { listening } from '#kit/listening.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { answerTo } from '../forward/raw-target.js'
import { proxyProblems } from './complaints.js'

type Written = Partial<Record<keyof ProxySettings, unknown>>

const settingsOf = (written: Written): ProxySettings =>
  ProxySettings.parse({ targetUri: 'http://127.0.0.1:9/mcp', ...written })

/** The settings that are complained about. */
const complaints = async (written: Written): Promise<string[]> =>
  (await proxyProblems({ targetUri: 'http://127.0.0.1:9/mcp', ...written })).map(({ place }) => place)

/** A target that answers with the headers it got, and counts. */
async function echoing(t: TestContext): Promise<{ url: string; readonly hits: number }> {
  let hits = 0
  const origin = await listening(t, (request, response) => {
    hits++
    response.setHeader('mcp-session-id', 'session')
    response.end(JSON.stringify({ ...request.headers, url: request.url }))
  })
  return {
    url: `${origin}/mcp`,
    get hits() {
      return hits
    },
  }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** One request with headers as they are given, `Host` included. */
function asking(
  origin: string,
  { method = 'GET', path = '/mcp', headers = {}, body = '' } = {} as {
    method?: string
    path?: string
    headers?: Record<string, string | string[]>
    body?: string
  },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(origin, { method, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function proxying(t: TestContext, written: Written) {
  const { log, lines, scrubber } = recordedLog()
  const running = await serving(t, proxy(settingsOf(written)), { log, scrubber })
  return { main: running.addresses.main ?? '', lines, running }
}

const echoed = ({ body }: Answer): Record<string, string> => JSON.parse(body)

test('mistakes that two flags make together are all reported, at the flag to change', async () => {
  assert.deepEqual(await complaints({}), [])
  assert.deepEqual(await complaints({ targetUri: 'http://a/b#c' }), ['targetUri'])
  assert.deepEqual(await complaints({ targetUri: 'http://me:secret@a/b' }), ['targetUri'])
  assert.deepEqual(await complaints({ targetUri: 'ftp://a/b' }), ['targetUri'])
  assert.deepEqual(await complaints({ host: '[::1]' }), ['host'])
  assert.deepEqual(await complaints({ allowedOrigins: ['https://a/'] }), ['allowedOrigins'])
  assert.deepEqual(await complaints({ allowedOrigins: ['*'] }), ['allowedOrigins'])
  assert.deepEqual(await complaints({ oidcIssuer: 'https://a' }), ['oidcAudience'])
  assert.deepEqual(await complaints({ oidcIssuer: 'https://a', oidcAnyAudience: true }), [])
  assert.deepEqual(await complaints({ oidcIssuer: 'https://a', oidcAudience: 'b', oidcAnyAudience: true }), [
    'oidcAnyAudience',
  ])
  assert.deepEqual(await complaints({ oidcJwksUrl: 'https://a/jwks', oidcIntrospectionUrl: 'https://a/i' }), [
    'oidcIntrospectionUrl',
    'oidcJwksUrl',
  ])
  assert.deepEqual(await complaints({ endStreamsWithToken: true }), ['endStreamsWithToken'])
  assert.deepEqual(await complaints({ remoteForwardClaims: [['X-User', 'sub']] }), ['remoteForwardClaims'])
  assert.deepEqual(await complaints({ oidcIssuer: 'https://a', oidcAudience: 'b', oidcClientSecret: 'c' }), [
    'oidcClientSecret',
  ])
})

test('outgoing credentials are refused on a network without authentication (T9)', async () => {
  const lenders: Written[] = [
    { remoteAuthBearerToken: 'token' },
    { remoteAuthBearerTokenFile: 'file' },
    { remoteForwardHeaders: [['X-Key', 'value']] },
    { remoteForwardHeadersSecret: [['X-Key', 'name']] },
  ]
  for (const lender of lenders) {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'gateway.example', '127.0.0.1.example.com', '127.1']) {
      assert.deepEqual(await complaints({ ...lender, host }), ['host'], host)
      assert.deepEqual(await complaints({ ...lender, host, allowUnauthenticated: true }), [])
      const checked = { oidcIssuer: 'https://a', oidcAudience: 'b', resourceUrl: 'https://c/' }
      assert.deepEqual(await complaints({ ...lender, host, ...checked }), [])
    }
    for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost']) {
      assert.deepEqual(await complaints({ ...lender, host }), [], host)
    }
  }
  assert.deepEqual(await complaints({ host: '0.0.0.0' }), [])
})

test('a rebound name or a foreign page gets no response on a loopback host, on any route (T7, RS-32)', async (t) => {
  const target = await echoing(t)
  const issuer = await issuing(t)
  const { main } = await proxying(t, {
    targetUri: target.url,
    ...oidcSettings(issuer),
  })
  const { host, port } = new URL(main)
  const token = { authorization: `Bearer ${await issuer.jwt()}` }
  const places = [
    '/mcp',
    '/',
    '/health',
    '/.well-known/oauth-protected-resource',
    '/.well-known/other',
    '/%zz',
  ]
  const origins = [
    'null',
    'https://evil.example',
    `http://localhost:${port}.evil`,
    `http://u@localhost:${port}`,
  ]
  origins.push('http://localhost', `http://LOCALHOST:${port}`, '')

  for (const path of places) {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      for (const [foreign, expected] of [
        ['evil.example', 403],
        [`evil.example:${port}`, 403],
        ['localhost', 403],
        [`localhost:${port}.evil`, 400],
      ] as const) {
        const { status } = await asking(main, { method, path, headers: { host: foreign, ...token } })
        assert.equal(status, expected, `${method} ${path} for ${foreign}`)
      }
      for (const origin of origins) {
        const { status, headers } = await asking(main, { method, path, headers: { host, origin, ...token } })
        assert.equal(status, 403, `${method} ${path} from ${origin}`)
        assert.equal(headers['access-control-allow-origin'], undefined)
      }
    }
  }
  const two = [`http://localhost:${port}`, 'https://evil.example']
  assert.equal((await asking(main, { headers: { host, ...token, origin: two } })).status, 403)
  assert.equal(target.hits, 0)

  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    for (const scheme of ['http', 'https']) {
      const headers = { host: `${name}:${port}`, origin: `${scheme}://${name}:${port}`, ...token }
      const answer = await asking(main, { headers })
      assert.equal(answer.status, 200, name)
      assert.equal(echoed(answer)['origin'], headers.origin)
    }
  }
})

test('the guard checks the host of an absolute request target too, and a second Host (T13)', async (t) => {
  const target = await echoing(t)
  const { main } = await proxying(t, { targetUri: target.url })
  const { host } = new URL(main)
  const line = async (requestLine: string, hosts: string): Promise<string> =>
    (await answerTo(main, `${requestLine} HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`)).line.slice(9, 12)

  assert.equal(await line('GET http://evil.example/mcp', `Host: ${host}\r\n`), '403')
  assert.equal(await line(`GET http://${host}/mcp`, 'Host: evil.example\r\n'), '403')
  assert.match(await line('GET /mcp', `Host: ${host}\r\nHost: evil.example\r\n`), /^40[03]$/)
  assert.equal(await line('GET /mcp', 'Host:\r\n'), '400')
  assert.equal(await line('GET /mcp', ''), '400')
  assert.equal(target.hits, 0)
  assert.equal(await line(`GET http://${host}/mcp`, `Host: ${host}\r\n`), '200')
})

test('allowed origins replace those of loopback, and their pages can read the needed headers (RS-34)', async (t) => {
  const target = await echoing(t)
  const issuer = await issuing(t)
  const page = 'https://app.example.com'
  const { main } = await proxying(t, {
    targetUri: target.url,
    allowedOrigins: [page],
    ...oidcSettings(issuer),
  })
  const preflight = {
    origin: page,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,mcp-session-id',
  }
  const shared = ({ headers }: Answer): boolean =>
    headers['access-control-allow-origin'] === page &&
    /\bWWW-Authenticate\b.*\bMcp-Session-Id\b/.test(String(headers['access-control-expose-headers'])) &&
    /\bOrigin\b/.test(String(headers.vary))

  const ahead = await asking(main, { method: 'OPTIONS', headers: preflight })
  assert.deepEqual([ahead.status, target.hits], [204, 0])
  assert.equal(ahead.headers['access-control-allow-headers'], 'authorization,mcp-session-id')
  assert.equal(ahead.headers['access-control-allow-methods'], 'POST')
  assert.ok(shared(ahead))

  const refused = await asking(main, { method: 'POST', headers: { origin: page } })
  assert.equal(refused.status, 401)
  assert.ok(shared(refused))

  const token = `Bearer ${await issuer.jwt()}`
  const passed = await asking(main, { method: 'POST', headers: { origin: page, authorization: token } })
  assert.equal(passed.status, 200)
  assert.ok(shared(passed))

  const plain = await asking(main, { method: 'OPTIONS', headers: { origin: page } })
  assert.equal(plain.status, 401)
  const { port } = new URL(main)
  assert.equal((await asking(main, { headers: { origin: `http://localhost:${port}` } })).status, 403)
})

test('a host that is not loopback and names no origins logs that, and gives no page a response', async (t) => {
  const target = await echoing(t)
  const { main, lines } = await proxying(t, { targetUri: target.url, host: '0.0.0.0' })
  const answer = await asking(main.replace('0.0.0.0', '127.0.0.1'), {
    headers: { origin: 'https://evil.example' },
  })

  assert.equal(answer.status, 200)
  assert.equal(answer.headers['access-control-allow-origin'], undefined)
  assert.ok(lines.some(({ level, plugin }) => level === 'warn' && plugin === 'guard/origin'))
})

test('after incoming validation the target gets no credential of the caller (T8, RS-33)', async (t) => {
  const target = await echoing(t)
  const issuer = await issuing(t)
  const checked: Written = {
    targetUri: target.url,
    ...oidcSettings(issuer),
  }
  const token = `Bearer ${await issuer.jwt()}`
  const headers = {
    authorization: token,
    cookie: 'a=b',
    'proxy-authorization': 'Basic eDp5',
    forwarded: 'for=me',
    'x-forwarded-for': '9.9.9.9',
  }
  const seen = async (written: Written, others: Record<string, string> = {}) => {
    const { main } = await proxying(t, { ...checked, ...written })
    return echoed(await asking(main, { headers: { ...headers, ...others } }))
  }

  const incoming = await seen({})
  for (const name of Object.keys(headers)) assert.equal(incoming[name], undefined, name)

  const both = await seen({ remoteAuthBearerToken: 'mine' })
  assert.deepEqual([both['authorization'], both['cookie']], ['Bearer mine', undefined])

  const trusting = await seen({ forwardAuthorization: true, forwardCookies: true })
  assert.deepEqual([trusting['authorization'], trusting['cookie']], [token, 'a=b'])
  assert.equal(trusting['proxy-authorization'], undefined)

  const telling = await seen({ forwardedHeaders: true })
  assert.equal(telling['x-forwarded-for'], '127.0.0.1')
  assert.match(telling['forwarded'] ?? '', /^for=127\.0\.0\.1;host="127\.0\.0\.1:\d+";proto=http$/)

  const behind = await seen(
    { forwardedHeaders: true, trustedProxies: ['127.0.0.0/8'] },
    {
      forwarded: 'for=6.6.6.6, for=203.0.113.9;host=evil.example;proto=https',
      'x-forwarded-for': '203.0.113.9',
    },
  )
  assert.equal(behind['x-forwarded-for'], '203.0.113.9')
  assert.match(behind['forwarded'] ?? '', /^for=203\.0\.113\.9;host="127\.0\.0\.1:\d+";proto=http$/)
})

test('without incoming validation the caller’s credentials reach the target, unless the proxy adds its own (CL-24)', async (t) => {
  const target = await echoing(t)
  const headers = { authorization: 'Bearer theirs', cookie: 'a=b' }

  const open = await proxying(t, { targetUri: target.url })
  const passed = echoed(await asking(open.main, { headers }))
  assert.deepEqual([passed['authorization'], passed['cookie']], ['Bearer theirs', 'a=b'])

  const lending = await proxying(t, { targetUri: target.url, remoteAuthBearerToken: 'mine' })
  assert.equal(echoed(await asking(lending.main, { headers }))['authorization'], 'Bearer mine')
})

test('an unauthenticated caller sees where to get a token; without validation the target shows its own (RS-03)', async (t) => {
  const target = await echoing(t)
  const issuer = await issuing(t)
  const { main } = await proxying(t, {
    targetUri: target.url,
    ...oidcSettings(issuer),
    oidcScopes: ['openid', 'tools'],
  })
  const refused = await asking(main, { method: 'POST', body: '{"jsonrpc":"2.0","id":7,"method":"ping"}' })
  assert.equal(refused.status, 401)
  assert.equal(JSON.parse(refused.body).jsonrpc, '2.0')
  const [, metadata = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers['www-authenticate'] ?? '') ?? []
  const document = JSON.parse((await asking(main, { path: new URL(metadata).pathname })).body)
  assert.equal(document.resource, `${main}/mcp`)
  assert.deepEqual(document.authorization_servers, [issuer.url])
  assert.deepEqual(document.scopes_supported, ['openid', 'tools'])
  assert.equal(target.hits, 0)

  const open = await proxying(t, { targetUri: target.url })
  const path = '/.well-known/oauth-protected-resource'
  assert.equal(echoed(await asking(open.main, { path }))['url'], `/mcp${path}`)
})

test('verified claims of the caller reach the target, and never headers by which a caller forges them', async (t) => {
  const target = await echoing(t)
  const issuer = await issuing(t)
  const { main } = await proxying(t, {
    targetUri: target.url,
    ...oidcSettings(issuer),
    remoteForwardClaims: [
      ['X-User', 'sub'],
      ['X-Groups', 'groups'],
      ['X-Name', 'name'],
      ['X-Deep', 'deep'],
    ],
  })
  const ask = async (claims: Record<string, unknown>) =>
    echoed(
      await asking(main, {
        headers: {
          authorization: `Bearer ${await issuer.jwt(claims)}`,
          'x-user': 'root',
          'X-GROUPS': 'admin',
          'x-deep': '1',
        },
      }),
    )

  const told = await ask({ groups: ['a', 'b'], name: 'Zoë', deep: { a: 1 } })
  assert.deepEqual([told['x-user'], told['x-groups'], told['x-deep']], ['somebody', 'a b', undefined])
  assert.equal(Buffer.from(told['x-name'] ?? '', 'latin1').toString(), 'Zoë')

  const odd = await ask({ groups: ['a b'], name: 'a\r\nX-Evil: 1', sub: ' ' })
  assert.equal(odd['url'], '/mcp')
  assert.deepEqual(
    [odd['x-user'], odd['x-groups'], odd['x-name'], odd['x-evil']],
    [undefined, undefined, undefined, undefined],
  )
})

test('the resource URL may have a prefix, which a proxy in front removes, before the path of the target', () => {
  for (const [resourceUrl, targetUri, prefix] of [
    ['https://a.example/corp/notes/mcp', 'http://127.0.0.1:9/mcp', '/corp/notes'],
    ['https://a.example/notes/mcp/', 'http://127.0.0.1:9/mcp', '/notes'],
    ['https://a.example/mcp', 'http://127.0.0.1:9/mcp/', undefined],
    ['https://a.example/', 'http://127.0.0.1:9/mcp', undefined],
    // Either may be a path of the target.
    ['https://a.example/notes', 'http://127.0.0.1:9/mcp', undefined],
    ['https://a.example/mcp', 'http://127.0.0.1:9', undefined],
    [undefined, 'http://127.0.0.1:9/mcp', undefined],
  ] as const) {
    const forwarder = proxy(settingsOf({ resourceUrl, targetUri })).find(
      (entry) => 'use' in entry && entry.use === 'forward/http',
    )
    const written = forwarder !== undefined && 'with' in forwarder ? forwarder.with : undefined
    assert.equal(Object(written)['removedPrefix'], prefix, resourceUrl)
  }
})

test('the proxy speaks HTTP/2 only to an https target, with the options of HTTP/1.1', async () => {
  const written = { targetUri: 'https://mcp.test/mcp', targetTimeout: 5_000, targetCaCert: 'ca.pem' }
  const forwarderOf = (more: Written) => proxy(settingsOf({ ...written, ...more })).at(-1)
  const { use: _, ...plain } = { use: '', ...forwarderOf({}) }
  assert.deepEqual(forwarderOf({ targetHttp2: true }), { ...plain, use: 'forward/http2' })
  assert.deepEqual(await complaints({ targetHttp2: true }), ['targetHttp2'])
})
