import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { ConfigError } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor, recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { connectProxy } from '#kit/connect-proxy.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { type Authority, authority, type Identity, tlsListening } from '#kit/tls.js'
import { variables } from '#kit/variables.js'
import { call, openRequest, proxied, send } from './proxied.js'

const chunked = { ...call(1), headers: { 'transfer-encoding': 'chunked' } }

/** A pair of files. Like a program, it writes a new file beside the old one, and renames it. */
function pairIn(place: string) {
  const files = { targetClientCert: join(place, 'client.pem'), targetClientKey: join(place, 'client.key') }
  const put = (path: string, text: string): void => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return {
    files,
    write({ cert, key }: Partial<Identity>): void {
      if (cert !== undefined) put(files.targetClientCert, cert)
      if (key !== undefined) put(files.targetClientKey, key)
    },
  }
}

const callerOf = ({ socket }: IncomingMessage): string =>
  socket instanceof TLSSocket ? (socket.getPeerCertificate().serialNumber ?? 'none') : 'none'

const SAYS_CALLER: RequestListener = (request, response) => {
  request.resume()
  response.end(callerOf(request))
}

/** A target that requires a certificate of its authority, and files with one. */
async function strictTarget(t: TestContext, listener: RequestListener = SAYS_CALLER, names = ['127.0.0.1']) {
  const ca = authority(t)
  const more = { requestCert: true, ca: ca.certificate, keepAliveTimeout: 60_000 }
  const port = await tlsListening(t, ca.issue(names), listener, more)
  const pair = pairIn(folder(t))
  pair.write(ca.issue(['client']))
  return { ca, port, pair, options: { targetCaCert: ca.file, ...pair.files } }
}

test('the error says when a target asks for a client certificate', async (t) => {
  const ca = authority(t)
  const more = { requestCert: true, rejectUnauthorized: true, ca: ca.certificate }
  const port = await tlsListening(t, ca.issue(['127.0.0.1']), SAYS_CALLER, more)
  const { main } = await proxied(t, `https://127.0.0.1:${port}`, { targetCaCert: ca.file })
  assert.deepEqual(failure(await send(main, chunked)), [502, 'target_client_certificate'])
})

const failure = ({ status, body }: { status: number; body: string }) => [
  status,
  JSON.parse(body).error?.data?.error,
]

test('a target with an authority of its own gets the certificate of the operator, on both transports', async (t) => {
  const { port, options } = await strictTarget(t)
  const target = `https://127.0.0.1:${port}/mcp`
  const { targetCaCert: _, ...withoutCa } = options
  const right = await proxied(t, target, options)
  const untrusting = await proxied(t, target, withoutCa)
  const silent = await proxied(t, target, { targetCaCert: options.targetCaCert })

  for (const asked of [call(1), chunked]) {
    const { status, body } = await send(right.main, asked)
    assert.equal(status, 200)
    assert.match(body, /^[\dA-F]+$/)
    assert.deepEqual(failure(await send(untrusting.main, asked)), [502, 'target_tls'])
    assert.match(
      String(failure(await send(silent.main, asked))),
      /^502,target_(?:client_certificate|tls|reset)$/,
    )
  }
})

for (const use of ['forward/http', 'forward/balanced']) {
  test(`${use}: with new files the next request has the new certificate, and an open stream goes on`, async (t) => {
    const streams: (() => void)[] = []
    const connections = new Set<Socket>()
    const { ca, port, pair, options } = await strictTarget(t, (request, response) => {
      connections.add(request.socket)
      if (request.url !== '/stream') return SAYS_CALLER(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      streams.push(() => response.end('data: 2\n\n'))
    })
    const target = `https://127.0.0.1:${port}`
    const list = [
      listen,
      { use: 'auth/anonymous' },
      { use, with: { ...options, ...(use === 'forward/http' ? { target } : { targets: [target] }) } },
    ]
    const { log, lines } = recordedLog()
    const { addresses } = await serving(t, list, { log })
    const main = addresses.main ?? ''
    const before = await Promise.all([call(1), chunked].map((asked) => send(main, asked)))
    const path = '/stream'
    const opened = await Promise.all([openRequest(main, { path }), openRequest(main, { ...chunked, path })])
    const heard = opened.map((stream) => ({ stream, text: '' }))
    for (const each of heard) {
      each.stream.setEncoding('utf8').on('data', (text) => {
        each.text += text
      })
    }
    const allHave = (text: string) => heard.every((each) => each.text === text)
    await eventually(() => allHave('data: 1\n\n'))
    const old = [...connections]

    const next = ca.issue(['client'])
    pair.write({ key: next.key })
    await eventually(() =>
      lines.some(({ reason }) => /is not the key of the first certificate/.test(String(reason))),
    )
    assert.equal((await send(main, call(1))).body, before[0]?.body)
    pair.write({ cert: next.cert })
    const asked = async () =>
      (await Promise.all([call(1), chunked, call(2), chunked].map((each) => send(main, each)))).map(
        ({ body }) => body,
      )
    await eventually(async () => !(await asked()).includes(before[0]?.body ?? ''))
    assert.equal(new Set(await asked()).size, 1)

    assert.ok(allHave('data: 1\n\n'))
    for (const end of streams) end()
    await eventually(() => allHave('data: 1\n\ndata: 2\n\n'))
    await eventually(() => old.every(({ destroyed }) => destroyed))
    assert.equal(lines.filter(({ msg }) => /do not fit together/.test(String(msg))).length, 1)
  })
}

test('a new authority in the file is trusted from then on', async (t) => {
  const [old, next] = [authority(t), authority(t)]
  const port = await tlsListening(t, next.issue(['127.0.0.1']), (_request, response) =>
    response.end('reached'),
  )
  const file = join(folder(t), 'ca.pem')
  writeFileSync(file, old.certificate)
  const { main, lines } = await proxied(t, `https://127.0.0.1:${port}`, { targetCaCert: file })
  for (const asked of [call(1), chunked])
    assert.deepEqual(failure(await send(main, asked)), [502, 'target_tls'])

  writeFileSync(file, 'nothing')
  await eventually(() => lines.some(({ reason }) => /expected PEM certificates/.test(String(reason))))
  writeFileSync(file, next.certificate)
  for (const asked of [call(1), chunked])
    await eventually(async () => (await send(main, asked)).body === 'reached')
})

test('an upgrade uses the operator’s certificates too', async (t) => {
  const { port, options } = await strictTarget(t, SAYS_CALLER)
  const { main } = await proxied(t, `https://127.0.0.1:${port}`, options)
  const { hostname, port: own } = new URL(main)
  const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const request = httpRequest({ hostname, port: own, headers, agent: false })
  request.end()
  const [response]: IncomingMessage[] = await once(request, 'response')
  const chunks = await response?.setEncoding('utf8').toArray()

  // This target speaks no WebSocket: it responds over the connection of the upgrade.
  assert.match(chunks?.join('') ?? '', /^[\dA-F]+$/)
})

for (const use of ['forward/http', 'forward/balanced']) {
  test(`${use}: certificates also work through an outgoing proxy, and after a change of the files`, async (t) => {
    const { ca, port, pair, options } = await strictTarget(t, SAYS_CALLER, ['mcp.test'])
    const proxy = await connectProxy(t, { to: port })
    variables(t, { HTTPS_PROXY: proxy.url })
    const target = 'https://mcp.test'
    const { addresses } = await serving(t, [
      listen,
      { use: 'auth/anonymous' },
      { use, with: { ...options, ...(use === 'forward/http' ? { target } : { targets: [target] }) } },
    ])
    const main = addresses.main ?? ''
    const bodies = async () =>
      (await Promise.all([call(1), chunked, call(2), chunked].map((asked) => send(main, asked)))).map(
        ({ body }) => body,
      )
    const before = await bodies()
    for (const body of before) assert.match(body, /^[\dA-F]+$/)

    pair.write(ca.issue(['client']))
    await eventually(async () =>
      (await bodies()).every((body) => /^[\dA-F]+$/.test(body) && !before.includes(body)),
    )
    assert.deepEqual([...new Set(proxy.asked)], ['mcp.test:443'])
  })
}

/** The message of the start for each option. */
async function refused(
  t: TestContext,
  options: object,
  target = 'https://127.0.0.1:9',
): Promise<Record<string, string>> {
  const list = [{ use: 'auth/anonymous' }, { use: 'forward/http', with: { target, ...options } }]
  const error = await boot(list, contextFor({ folder: folder(t) })).then(
    (running) => running.stop().then(() => assert.fail('it started')),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ConfigError, String(error))
  return Object.fromEntries(
    error.problems.map(({ place, message }) => [/\w+$/.exec(place)?.[0] ?? '', message]),
  )
}

test('one error at the start reports every problem of the files', async (t) => {
  const ca: Authority = authority(t)
  const place = folder(t)
  const [one, other] = [ca.issue(['a']), ca.issue(['b'])]
  const at = (name: string, text: string): string => {
    writeFileSync(join(place, name), text, { mode: 0o600 })
    return join(place, name)
  }
  const files = {
    cert: at('a.pem', one.cert),
    key: at('a.key', one.key),
    otherKey: at('b.key', other.key),
    text: at('text', 'hello\n'),
  }

  const all = await refused(t, {
    targetCaCert: files.text,
    targetClientCert: join(place, 'missing'),
    targetClientKey: files.text,
  })
  assert.match(all['targetCaCert'] ?? '', /expected PEM certificates/)
  assert.match(all['targetClientCert'] ?? '', /there is no such file/)
  assert.match(all['targetClientKey'] ?? '', /expected a PEM private key/)

  const foreign = await refused(t, { targetClientCert: files.cert, targetClientKey: files.otherKey })
  assert.match(foreign['targetClientKey'] ?? '', /is not the key of the first certificate/)
  const half = await refused(t, { targetClientCert: files.cert, targetCaCert: files.key })
  assert.match(half['targetClientCert'] ?? '', /--target-client-key \(targetClientKey in a file\)/)
  assert.match(half['targetCaCert'] ?? '', /expected PEM certificates/)
  const keyAlone = await refused(t, { targetClientKey: files.key })
  assert.match(keyAlone['targetClientKey'] ?? '', /--target-client-cert/)
  const plain = await refused(t, { targetCaCert: ca.file }, 'http://127.0.0.1:9')
  assert.match(plain['targetCaCert'] ?? '', /https URL/)
})

test('an expired client certificate causes a warning', async (t) => {
  const { ca, port, pair, options } = await strictTarget(t)
  pair.write(ca.issue(['client'], -1))
  const { lines } = await proxied(t, `https://127.0.0.1:${port}`, options)
  assert.ok(lines.some(({ level, msg }) => level === 'warn' && /out of date/.test(String(msg))))
})
