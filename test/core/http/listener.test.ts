import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { serve } from 'sallyport/embed'
import { ask } from '#kit/ask.js'
import { recordedLog, serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'
import { listen, plugin } from '#kit/plugin.js'

const word = (text: string) =>
  plugin('word', ({ http }) => http.get('/', { config: { public: true } }, () => text))

test('an address under another name of its host is the same port, which stays open, and is opened once', async (t) => {
  const free = await closedPort()
  const { port } = new URL(free)
  const at = (address: string, id = 'a') => ({ use: 'listen/http', id, with: { address } })
  const running = await serving(t, [at(`127.0.0.1:${port}`), word('old')])
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  assert.equal((await ask(free, agent)).text, 'old')

  await running.swap([at(`127.1:${port}`), word('new')])
  assert.equal((await ask(free, agent)).text, 'new')
  await running.swap([at(`127.0.0.1:${port}`), word('again')])
  assert.equal((await ask(free)).text, 'again')

  const twice = running.swap([at(`127.0.0.1:${port}`), at(`127.1:${port}`, 'b'), word('twice')])
  await assert.rejects(twice, /two entries of the list open this address/)
  assert.equal((await ask(free)).text, 'again')
})

test('the error names an address that this machine does not have, and a host name that does not resolve', async (t) => {
  const at = (address: string) => serving(t, [{ ...listen, with: { address } }])

  await assert.rejects(at('192.0.2.1:0'), /this machine has no such address/)
  await assert.rejects(at('no-such-host.invalid:0'), /its host name does not resolve/)
})

test('a port in use is a ConfigError', async (t) => {
  const first = await serving(t, [listen])
  const address = new URL(first.addresses.main ?? '').host
  const second = serve([{ ...listen, with: { address } }], {
    catalogue: {
      'listen/http': async () =>
        import('sallyport/builtin').then(({ catalogue }) => catalogue['listen/http']?.() ?? assert.fail()),
    },
    folder: import.meta.dirname,
    log: recordedLog().log,
  })
  await assert.rejects(
    second,
    (error) => error instanceof ConfigError && /port is in use/.test(error.message),
  )
})

test('bytes that are not HTTP get a 400 and the connection is closed', async (t) => {
  const running = await serving(t, [listen])
  const { port } = new URL(running.addresses.main ?? '')
  for (const [bytes, status] of [
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
    ['GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\n\r\n', 400],
  ] as const) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(bytes)
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
  }
})

test('100 Continue is not sent to a request that is refused', async (t) => {
  const upload = plugin('upload', ({ http }) => {
    http.post('/open', { config: { public: true } }, (request) => request.body)
    http.post('/closed', (request) => request.body)
  })
  const running = await serving(t, [listen, upload])
  const post = (path: string) =>
    request(`${running.addresses.main}${path}`, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-type': 'text/plain', 'content-length': 2 },
    })

  const open = post('/open')
  open.flushHeaders()
  await once(open, 'continue')
  open.end('hi')
  const [accepted] = (await once(open, 'response')) as [IncomingMessage]
  assert.equal(accepted.statusCode, 200)
  accepted.resume()

  const closed = post('/closed')
  closed.on('continue', () => assert.fail('the gate had not let it in'))
  closed.flushHeaders()
  const [refused] = (await once(closed, 'response')) as [IncomingMessage]
  assert.equal(refused.statusCode, 401)
  closed.destroy()
})
