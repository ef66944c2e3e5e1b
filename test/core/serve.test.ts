import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ConfigError, definePlugin, type Gateway, GatewayError, serve } from 'sallyport'
import { recordedLog, serving } from '../kit/booted.js'
import { closedPort } from '../kit/listening.js'

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }
const internal = { use: 'internal/server', with: { address: '127.0.0.1:0' } }

const routes = (name: string, declare: (gateway: Gateway) => void) => ({
  use: definePlugin({ name, api: 1, setup: declare }),
})
const word = (text: string) =>
  routes('word', ({ http }) => http.get('/', { config: { public: true } }, () => text))

/** A route that answers when it is told to. */
function slowly() {
  let finish: (text: string) => void = () => {}
  let arrive: () => void = () => {}
  const arrival = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const answer = new Promise<string>((resolve) => {
    finish = resolve
  })
  const entry = routes('slow', ({ http }) =>
    http.get('/slow', { config: { public: true } }, () => {
      arrive()
      return answer
    }),
  )
  return { entry, arrival, finish: (text: string) => finish(text) }
}

async function ask(url: string, agent?: Agent): Promise<IncomingMessage & { text: string }> {
  const asked = get(url, { ...(agent !== undefined && { agent }) })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}

test('a list is exchanged under load without one failed request', async (t) => {
  const running = await serving(t, [listen, word('old')])
  const url = running.addresses.main ?? ''
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  const seen = new Map<string, number>()
  let exchanged = false

  const caller = async (): Promise<void> => {
    let afterwards = 0
    while (afterwards < 50) {
      const { statusCode, text } = await ask(url, agent)
      assert.equal(statusCode, 200)
      seen.set(text, (seen.get(text) ?? 0) + 1)
      if (exchanged) afterwards++
    }
  }
  const callers = Promise.all(Array.from({ length: 8 }, caller))
  for (let round = 0; round < 20; round++) await running.swap([listen, word(`list ${round}`)])
  exchanged = true
  await callers

  assert.equal(running.addresses.main, url)
  assert.ok((seen.get('list 19') ?? 0) >= 8 * 49, `the last list answered ${seen.get('list 19')}`)
})

test('a list that cannot boot, or cannot open its doors, changes nothing', async (t) => {
  const running = await serving(t, [listen, word('old')])
  const other = await serving(t, [listen, word('other')])
  const taken = { ...listen, id: 'second', with: { address: new URL(other.addresses.main ?? '').host } }
  const broken = routes('broken', () => {
    throw new Error('no')
  })
  const late = routes('late', (gateway) => gateway.onReady(() => Promise.reject(new Error('no'))))

  await assert.rejects(running.swap([listen, broken]), GatewayError)
  await assert.rejects(running.swap([listen, { use: 'no-such-plugin' }]), ConfigError)
  await assert.rejects(running.swap([listen, taken, word('new')]), /the port is taken/)
  await assert.rejects(running.swap([listen, word('new'), late]), /"late" failed in ready/)

  assert.equal((await ask(running.addresses.main ?? '')).text, 'old')
})

test('an address in another spelling is the same door, which stays open, and is opened once', async (t) => {
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
  await assert.rejects(twice, /two entries of the list open it/)
  assert.equal((await ask(free)).text, 'again')
})

test('a request that the old list is answering gets its answer from it', async (t) => {
  const { entry, arrival, finish } = slowly()
  const running = await serving(t, [listen, word('old'), entry])
  const url = running.addresses.main ?? ''

  const waiting = ask(`${url}/slow`)
  await arrival
  const swapped = running.swap([listen, word('new')])
  const deadline = Date.now() + 5_000
  while ((await ask(url)).text !== 'new') assert.ok(Date.now() < deadline)
  finish('from the old list')

  assert.equal((await waiting).text, 'from the old list')
  await swapped
})

test('a stop lets what is in flight finish and takes nothing new', async (t) => {
  const { entry, arrival, finish } = slowly()
  const running = await serving(t, [listen, entry])
  const url = running.addresses.main ?? ''

  const waiting = ask(`${url}/slow`)
  await arrival
  const stopped = running.stop()
  await assert.rejects(ask(url), { code: 'ECONNREFUSED' })
  finish('done')

  const answer = await waiting
  assert.equal(answer.text, 'done')
  assert.equal(answer.headers.connection, 'close')
  await stopped
})

test('an open event stream does not hold up a stop', async (t) => {
  const events = routes('events', ({ http }) =>
    http.get('/', { config: { public: true } }, (_request, reply) => {
      reply.hijack()
      reply.raw.setHeader('content-type', 'text/event-stream')
      reply.raw.writeHead(200)
      reply.raw.write('data: 1\n\n')
    }),
  )
  const running = await serving(t, [listen, events], { drainLimit: 60_000 })
  const [stream] = (await once(get(running.addresses.main ?? ''), 'response')) as [IncomingMessage]
  await once(stream, 'data')

  const began = Date.now()
  const ended = once(stream, 'close').catch(() => {})
  await running.stop()
  await ended
  assert.ok(Date.now() - began < 5_000)
})

test('readiness tells of the start and of the end, and nothing of the internal port is on the main one', async (t) => {
  const running = await serving(t, [listen, internal, { use: 'internal/metrics' }, { use: 'auth/anonymous' }])
  const { main = '', internal: inner = '' } = running.addresses

  for (const path of ['/health', '/readiness', '/version', '/metrics']) {
    assert.equal((await ask(inner + path)).statusCode, 200, path)
    assert.equal((await ask(main + path)).statusCode, 404, path)
  }
  assert.deepEqual(JSON.parse((await ask(`${inner}/health`)).text), { status: 'healthy' })
  assert.deepEqual(JSON.parse((await ask(`${inner}/readiness`)).text), { status: 'ready' })
  assert.deepEqual(Object.keys(JSON.parse((await ask(`${inner}/version`)).text)), [
    'version',
    'commit',
    'build_date',
    'runtime_version',
    'platform',
  ])
  assert.match(
    (await ask(`${inner}/metrics`)).text,
    /^sallyport_http_requests_total\{method="GET",route="unknown",status="404"\} 4$/m,
  )
})

test('a busy port is a mistake in the configuration, and says so', async (t) => {
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
  await assert.rejects(second, (error) => error instanceof ConfigError && /port is taken/.test(error.message))
})

test('bytes that are no HTTP are answered and the connection ends', async (t) => {
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

test('nobody is told to send a body that would be refused', async (t) => {
  const upload = routes('upload', ({ http }) => {
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
