import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Entry } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'
import { variables } from '#kit/variables.js'
import { call, send } from '../../forward/proxied.js'
import { sendJson, startAuthorizationServer } from './authorization-server.js'
import { loginEntries, proxyWithLogin, signInUser } from './proxy-with-login.js'

/** An opener of the operating system that records its arguments. */
function openerIn(t: TestContext): () => readonly string[] {
  const directory = folder(t)
  const record = join(directory, 'called')
  for (const name of ['xdg-open', 'open']) {
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" >> '${record}'\n`
    writeFileSync(join(directory, name), script)
    chmodSync(join(directory, name), 0o755)
  }
  variables(t, { PATH: `${directory}${delimiter}${process.env['PATH']}` })
  return () => {
    try {
      // The shell makes the file before there is anything in it.
      const text = readFileSync(record, 'utf8').trimEnd()
      return text === '' ? [] : text.split('\n')
    } catch {
      return []
    }
  }
}

const pages = [
  'file:///etc/passwd',
  'file://localhost/../bin/sh',
  'javascript:alert(1)',
  'data:text/html,x',
  'ms-msdt:/id',
  'http://a$(calc)@127.0.0.1/',
  'https://user:word@as.example/authorize',
  'http://as.example/authorize',
  'https://as.example/"&calc&"',
  "https://as.example/'x",
  'https://as.example/a b',
  'https://as.example/a\nb',
  'https://as.example/\u0000',
  'https://as.example/`id`',
  'https://as.example/a\\b',
  'https://as.example/a|b',
  '\\\\evil\\share',
  '/authorize',
  'as.example',
  '',
]
for (const page of pages) {
  test(`the authorization URL ${JSON.stringify(page)} never reaches the opener (T1, CL-19)`, async (t) => {
    const opened = openerIn(t)
    const server = await startAuthorizationServer(t)
    server.metadata = { authorization_endpoint: page }
    const { urls } = signInUser(t, () => {})
    const { main } = await proxyWithLogin(t, server.target, { openBrowser: true })

    const { status, body } = await send(main, call(1))
    assert.equal(status, 502)
    assert.match(body, /authorization_url_refused/)
    assert.deepEqual([opened(), urls], [[], []])
  })
}

test('a valid authorization URL reaches the opener as one argument, byte for byte, and is not printed (T1)', async (t) => {
  const opened = openerIn(t)
  const server = await startAuthorizationServer(t)
  server.metadata = { authorization_endpoint: `${server.origin}/authorize?a=$(id)&b=%22%26calc;x` }
  const { urls } = signInUser(t, () => {})
  const { main } = await proxyWithLogin(t, server.target, { openBrowser: true })
  const answer = send(main, call(1))

  const [url = '', ...rest] = await eventually(() => (opened().length > 0 ? opened() : undefined))
  assert.deepEqual(rest, [])
  assert.ok(
    url.startsWith(`${server.origin}/authorize?a=%24%28id%29&b=%22%26calc%3Bx&response_type=code&`),
    url,
  )
  assert.deepEqual(urls, [])
  await fetch(url)
  assert.equal((await answer).status, 200)
})

test('the environment of the opener has no secret of the gateway, and has the variables that it needs', async (t) => {
  const opened = openerIn(t)
  const directory = (process.env['PATH'] ?? '').split(delimiter)[0] ?? ''
  const script = `#!/bin/sh\nenv > '${join(directory, 'env')}'\necho called > '${join(directory, 'called')}'\nexit 3\n`
  for (const name of ['xdg-open', 'open']) writeFileSync(join(directory, name), script)
  const secrets = { SALLYPORT_OAUTH_CLIENT_SECRET: 'canary-1', SERVICE_TOKEN: 'canary-2', OTHER: 'canary-3' }
  const given = { ...secrets, DISPLAY: ':7' }
  variables(t, given)
  const { log, scrubber } = recordedLog()
  scrubber.add('canary-3')
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { openBrowser: true }, {}, { log, scrubber })
  const answer = send(main, call(1))

  await eventually(() => opened().length > 0)
  const environment = readFileSync(join(directory, 'env'), 'utf8')
  assert.doesNotMatch(environment, /canary/)
  assert.match(environment, /^DISPLAY=:7$/m)
  await answer
})

test('when the opener fails, the URL is printed', async (t) => {
  const opened = openerIn(t)
  const directory = (process.env['PATH'] ?? '').split(delimiter)[0] ?? ''
  for (const name of ['xdg-open', 'open']) writeFileSync(join(directory, name), '#!/bin/sh\nexit 3\n')
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { openBrowser: true })
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([urls.length, opened()], [1, []])
})

test('with any metadata, the opener gets one plain web URL or nothing (T1)', async (t) => {
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t, (url) => fetch(url))
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string()), async (page) => {
      server.metadata = { authorization_endpoint: page }
      const { main, running } = await proxyWithLogin(t, server.target, { timeout: '100ms' })
      const before = urls.length
      await send(main, call(1))
      await running.stop(0)
      for (const url of urls.slice(before)) {
        const { protocol, username } = new URL(url)
        assert.match(protocol, /^https?:$/)
        assert.equal(username, '')
        assert.doesNotMatch(url, /[\s"'`<>\\^{|}]/)
      }
    }),
    { numRuns: 15 },
  )
})

// Connects to this machine, but no rule counts it as loopback: it is used as a target on the internet.
const ELSEWHERE = '0.0.0.0'

test('private addresses in the metadata of a target on the internet get no request (T2, CL-29)', async (t) => {
  let hits = 0
  const canary = await listening(t, (_request, response) => response.end(String(++hits)))
  const { port } = new URL(canary)
  variables(t, { SALLYPORT_INSECURE_HTTP: '1' })
  const hosts = [
    '127.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    'localhost',
    '169.254.169.254',
    '0x7f.1',
    '2130706433',
  ]
  const hostile = hosts.map((host) => `http://${host}:${port}`)
  const none: object = {}
  const faults = hostile.flatMap((at) => [
    { challenge: `Bearer resource_metadata="${at}/prm"` },
    { challenge: `Bearer realm="${at}", resource_metadata="${at}"` },
    { issuer: at },
    { metadata: { token_endpoint: `${at}/token` } },
    { metadata: { registration_endpoint: `${at}/register` } },
  ])
  for (const fault of [none, ...faults]) {
    const server = await startAuthorizationServer(t)
    server.origin = server.origin.replace('127.0.0.1', ELSEWHERE)
    if ('challenge' in fault) server.challenge = String(fault.challenge)
    if ('issuer' in fault) server.resource = { authorization_servers: [fault.issuer] }
    if ('metadata' in fault) Object.assign(server, { metadata: fault.metadata })
    signInUser(t)
    const { main, running } = await proxyWithLogin(t, server.target, { timeout: '3s' })
    const { status } = await send(main, call(1))
    // Without a fault it works: the others are refused for their addresses.
    assert.ok(fault === none ? status === 200 : status >= 500, `${JSON.stringify(fault)}: ${status}`)
    await running.stop(0)
    t.mock.restoreAll()
  }
  assert.equal(hits, 0)
})

test('the metadata of a target on this machine may name this machine (T2)', async (t) => {
  const server = await startAuthorizationServer(t)
  const other = await startAuthorizationServer(t)
  other.origin = other.origin.replace('127.0.0.1', 'localhost')
  server.resource = { authorization_servers: [other.origin] }
  other.metadata = {}
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { timeout: '5s' })
  const { status } = await send(main, call(1))
  // The token of another server is not valid here: what matters is that it was requested.
  assert.ok(status >= 500)
  assert.ok(other.times('/token') > 0)
})

test('metadata that redirects is not followed (T2, CL-20)', async (t) => {
  let hits = 0
  const canary = await listening(t, (_request, response) => sendJson(response, 200, { hits: ++hits }))
  const redirecting = await listening(t, (_request, response) =>
    response.writeHead(302, { location: canary }).end(),
  )
  for (const path of ['registration_endpoint', 'token_endpoint']) {
    const server = await startAuthorizationServer(t)
    server.metadata = { [path]: redirecting }
    signInUser(t)
    const { main } = await proxyWithLogin(t, server.target)
    assert.equal((await send(main, call(1))).status, 503)
    t.mock.restoreAll()
  }
  assert.equal(hits, 0)
})

const given = (issuer?: string): readonly Entry[] => [
  {
    use: 'registrar/given',
    with: { clientId: 'mine', clientSecret: 'canary-secret', ...(issuer !== undefined && { issuer }) },
  },
]

test('a client secret for one issuer is sent to no other, and the error names both (T3, CL-13)', async (t) => {
  const server = await startAuthorizationServer(t)
  const evil = await startAuthorizationServer(t)
  server.resource = { authorization_servers: [evil.origin] }
  const { urls } = signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, {}, { registrars: given('https://idp.example') })

  const { status, body } = await send(main, call(1))
  assert.equal(status, 502)
  assert.ok(body.includes('https://idp.example') && body.includes(evil.origin), body)
  assert.deepEqual([evil.times('/token'), evil.times('/authorize'), urls.length], [0, 0, 0])
  assert.ok(!JSON.stringify(evil.seen).includes('canary'))
})

test('a client secret without a configured issuer belongs to the first that accepted it, also after a restart (T3, CL-13)', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const evil = await startAuthorizationServer(t)
  signInUser(t)
  const kept = { registrars: given(), directory }
  const first = await proxyWithLogin(t, server.target, {}, kept)
  assert.equal((await send(first.main, call(1))).status, 200)
  await first.running.stop(0)

  server.revokeTokens()
  server.revokeGrant()
  server.resource = { authorization_servers: [evil.origin] }
  const second = await proxyWithLogin(t, server.target, {}, kept)
  assert.equal((await send(second.main, call(1))).status, 502)
  // The refresh token was sent to its issuer, and nothing to the other.
  assert.equal(server.grantsOf('refresh_token'), 1)
  assert.deepEqual([evil.times('/token'), evil.times('/authorize')], [0, 0])
})

test('a list without a state store or without a client registrar does not start', async (t) => {
  const entries = loginEntries({ target: 'http://127.0.0.1:1/mcp' })
  const alone = entries.filter(({ use }) => use === 'credential/oauth')
  const other = plugin('nothing', () => {})
  await assert.rejects(booted(t, [...alone, other], { log: recordedLog().log }), { code: 'CONFIG_INVALID' })
})
