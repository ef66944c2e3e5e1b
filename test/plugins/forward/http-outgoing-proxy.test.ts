import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { connectProxy } from '#kit/connect-proxy.js'
import { tcpListening } from '#kit/egress.js'
import { closedPort } from '#kit/listening.js'
import { dial } from '#kit/raw.js'
import { startedProgram } from '#kit/started-program.js'
import { authority, tlsListening } from '#kit/tls.js'
import { call, proxied, send } from './proxied.js'

const TARGET = 'http://target.test'
const chunked = { ...call(1), headers: { 'transfer-encoding': 'chunked' } }

/** A forwarder with an outgoing proxy; the environment is read at setup. */
async function behindProxy(t: TestContext, proxy: string) {
  process.env['HTTP_PROXY'] = proxy.replace('//', '//anna:geheim@')
  try {
    return await proxied(t, TARGET)
  } finally {
    delete process.env['HTTP_PROXY']
  }
}

async function proxyWith(t: TestContext, bytes: string) {
  const { port } = await tcpListening(t, (socket) => socket.once('data', () => socket.end(bytes)))
  return `http://127.0.0.1:${port}`
}

test('T10: the error of a failed proxy has a class; the log has the proxy and its response, and no password', async (t) => {
  const silent = await tcpListening(t)
  const cases: readonly (readonly [proxy: string, said: RegExp, status?: number])[] = [
    [await proxyWith(t, 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'), /it answered 407$/],
    [await proxyWith(t, 'HTTP/1.1 403 Forbidden\r\n\r\n'), /it answered 403$/],
    [await proxyWith(t, 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 5\r\n\r\nsorry'), /it answered 502$/],
    [await proxyWith(t, ''), /closed/],
    [await proxyWith(t, '220 mail.test ESMTP\r\n'), /not valid HTTP$/],
    [await closedPort(), /nothing listens there$/],
    [(await proxyWith(t, 'no TLS')).replace('http:', 'https:'), /no TLS session/],
    [`http://127.0.0.1:${silent.port}`, /it did not answer in time$/, 504],
  ]
  const looks: Promise<void>[] = []
  for (const [proxy, said, expected = 502] of cases) {
    const { main, lines } = await behindProxy(t, proxy)
    const code = expected === 504 ? 'target_proxy_timeout' : 'target_proxy'
    const look = async () => {
      for (const { status, body } of await Promise.all([send(main, call(1)), send(main, chunked)])) {
        assert.deepEqual([status, JSON.parse(body).error.data.error], [expected, code])
        assert.doesNotMatch(body, /127\.0\.0\.1|target\.test/)
      }
      const causes = lines.flatMap(({ err }) => (isFailure(err) ? [err.cause.message] : []))
      assert.equal(causes.length, 2)
      for (const cause of causes) {
        assert.ok(cause.startsWith(`${proxy} opened no tunnel to target.test:80: `), cause)
        assert.match(cause, said)
      }
      assert.ok(lines.some((line) => line['proxy'] === proxy && line['target'] === TARGET))
      assert.doesNotMatch(JSON.stringify(lines), /anna|geheim|YW5uYTpnZWhlaW0/)
    }
    looks.push(look())
  }
  await Promise.all(looks)
})

const isFailure = (err: unknown): err is { cause: { message: string } } =>
  typeof err === 'object' && err !== null && 'cause' in err

test('a caller that disconnects, and a stop, leave no connection to a proxy that does not respond', async (t) => {
  const silent = await tcpListening(t)
  const { main, running } = await behindProxy(t, `http://127.0.0.1:${silent.port}`)
  const open = (count: number) => eventually(() => (silent.open === count ? true : undefined), 5)

  const leaving = dial(main)
  leaving.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n')
  await open(1)
  leaving.destroy()
  await open(0)

  const waiting = [send(main, call(1)), send(main, chunked)].map((answer) => answer.catch(() => undefined))
  await open(2)
  await running.stop(0)
  await open(0)
  await Promise.all(waiting)
})

test('both transports check the certificate of a target through a proxy, and the certificate of the proxy', async (t) => {
  const ca = authority(t)
  const port = await tlsListening(t, ca.issue(['mcp.test']), (request, response) => {
    response.writeHead(200, { 'x-host': request.headers.host })
    request.pipe(response)
  })
  const proxy = await connectProxy(t, { to: port, identity: ca.issue(['localhost']) })
  const HTTPS_PROXY = proxy.url.replace('127.0.0.1', 'anna:geheim@localhost')
  const started = async (target: string, more: Readonly<Record<string, string>>) => {
    const argv = ['proxy', 'x', '--target-uri', target, '--debug']
    const gateway = startedProgram(t, argv, { environment: { HTTPS_PROXY, ...more } })
    return { main: await gateway.ready(), gateway }
  }
  const NODE_EXTRA_CA_CERTS = ca.file
  const [right, other, unknown] = await Promise.all([
    started('https://mcp.test/mcp', { NODE_EXTRA_CA_CERTS }),
    started('https://other.test/mcp', { NODE_EXTRA_CA_CERTS }),
    started('https://mcp.test/mcp', {}),
  ])

  for (const asked of [call(1), chunked]) {
    const { status, body, headers } = await send(right.main, asked)
    assert.deepEqual([status, body, headers['x-host']], [200, call(1).body, 'mcp.test'])
    const refused = await send(other.main, asked)
    assert.deepEqual([refused.status, JSON.parse(refused.body).error.data.error], [502, 'target_tls'])
    const untrusting = await send(unknown.main, asked)
    assert.deepEqual([untrusting.status, JSON.parse(untrusting.body).error.data.error], [502, 'target_proxy'])
  }
  assert.deepEqual(proxy.asked.toSorted(), [
    ...Array(2).fill('mcp.test:443'),
    ...Array(2).fill('other.test:443'),
  ])
  for (const { gateway } of [right, other, unknown]) {
    gateway.stop()
    await gateway.ended()
    assert.match(gateway.output.stderr, /go through a proxy/)
    assert.doesNotMatch(JSON.stringify(gateway.output), /anna|geheim|YW5uYTpnZWhlaW0/)
  }
})

test('a proxy that is not a URL fails the start, and the error does not show its value', async (t) => {
  const environment = { HTTP_PROXY: 'socks5://anna:geheim@proxy.test' }
  const gateway = startedProgram(t, ['proxy', 'x', '--target-uri', TARGET], { environment })
  assert.equal(await gateway.ended(), 2)
  assert.match(gateway.output.stderr, /HTTP_PROXY: expected a URL of http or https/)
  assert.doesNotMatch(JSON.stringify(gateway.output), /anna|geheim/)
})
