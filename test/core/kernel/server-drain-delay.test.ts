import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { definePlugin, Listener } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { type FakeClock, fakeClock } from '#kit/fake-clock.js'
import { plugin } from '#kit/plugin.js'

const DELAY = 5_000

interface Answer {
  readonly status: number | undefined
  readonly connection: string | undefined
  readonly text: string
}

async function ask(url: string, agent = new Agent()): Promise<Answer> {
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return { status: response.statusCode, connection: response.headers.connection, text }
}

/** The last wait of a stop begins when sockets have closed, at a time that the test cannot control. */
async function passed(clock: FakeClock, ended: Promise<void> | undefined): Promise<void> {
  let isOver = false
  const over = Promise.resolve(ended).finally(() => {
    isOver = true
  })
  while (!isOver) await clock.advance(1_000)
  await over
}

/** A gateway with a drain delay, a route that responds when the test lets it, and a count of stopped plugins. */
async function draining(t: TestContext) {
  const { log, lines } = recordedLog()
  const open: ((text: string) => void)[] = []
  let stopped = 0
  const listen = { use: 'listen/http', with: { address: '127.0.0.1:0', drainDelay: `${DELAY}ms` } }
  const list = (word: string) => [
    listen,
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    plugin(word, ({ http, onStop }) => {
      http.get('/', () => word)
      http.get('/held', () => new Promise((resolve) => open.push(resolve)))
      onStop(() => {
        stopped++
      })
    }),
  ]
  const running = await serving(t, list('first'), { log })
  const { main = '', internal = '' } = running.addresses
  const readiness = async () => (await ask(`${internal}/readiness`)).status
  const said = (message: RegExp) => lines.filter(({ msg }) => message.test(String(msg)))
  return { running, list, main, internal, readiness, open, said, stopped: () => stopped }
}

test('a stop is reported at once, the main port serves until the drain delay is over, and the internal port to the end', async (t) => {
  const clock = fakeClock(t)
  const { running, main, internal, readiness, open, said, stopped } = await draining(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const held = ask(`${main}/held`)
  await eventually(() => open.length === 1 || undefined)

  const ended = running.stop()
  assert.equal(await readiness(), 503)
  assert.equal((await ask(`${internal}/health`)).status, 200)
  assert.deepEqual(await ask(main, agent), { status: 200, connection: 'keep-alive', text: 'first' })
  assert.equal(said(/not ready any more/)[0]?.['drainDelay'], DELAY)
  await clock.advance(DELAY - 1)
  assert.equal((await ask(main)).status, 200)

  await clock.advance(1)
  await assert.rejects(ask(main), { code: 'ECONNREFUSED' })
  assert.equal(await readiness(), 503)
  assert.equal((await ask(`${internal}/health`)).status, 200)
  assert.equal(stopped(), 0)
  open[0]?.('in its time')
  assert.deepEqual(await held, { status: 200, connection: 'close', text: 'in its time' })
  await passed(clock, ended)
  assert.equal(stopped(), 1)
  await assert.rejects(readiness(), { code: 'ECONNREFUSED' })
})

test('a connection that stays busy, and a thousand idle ones, do not outlast a drain', async (t) => {
  const clock = fakeClock(t)
  const { running, main } = await draining(t)
  const port = Number(new URL(main).port)
  const sockets = Array.from({ length: 1_000 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  // Each connection sends its next request as soon as it has a response.
  const busy = sockets.slice(0, 8)
  let answers = 0
  for (const socket of busy) {
    const more = (): boolean => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    socket.on('data', () => {
      answers++
      more()
    })
    more()
  }
  for (const socket of sockets) socket.on('error', () => {}).resume()
  const closed = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))))

  const ended = running.stop()
  const before = answers
  await eventually(() => answers > before + 100 || undefined)
  await clock.advance(DELAY)
  await closed
  await passed(clock, ended)
})

test('a reload during the drain delay is refused, and a running one does not make the gateway ready again', async (t) => {
  const clock = fakeClock(t)
  const { running, list, main, readiness } = await draining(t)
  let ended: Promise<void> | undefined
  // The kernel reads it when it opens the ports; after that no step of the new list checks the signal.
  const stopping: Listener = {
    port: 'main',
    get address() {
      ended ??= running.stop()
      return '127.0.0.2:0'
    },
  }
  const late = plugin('late', (gateway) => gateway.provide(Listener, stopping))
  const next = [...list('second'), { use: definePlugin({ ...late.use, provides: [Listener] }) }]

  await assert.rejects(running.swap(next), /the gateway was stopped/)
  await assert.rejects(running.swap(list('third')), /the gateway was stopped/)
  assert.equal(await readiness(), 503)
  assert.equal((await ask(main)).text, 'first')
  await clock.advance(DELAY)
  await passed(clock, ended)
})

test('a stop while the old list of a reload still has requests waits once, not twice', async (t) => {
  const { running, list, main, open } = await draining(t)
  const clock = fakeClock(t)
  const first = ask(`${main}/held`).catch((error: NodeJS.ErrnoException) => error.code)
  await eventually(() => open.length === 1 || undefined)
  const swapped = running.swap(list('second'))
  await eventually(async () => (await ask(main)).text === 'second' || undefined)
  const second = ask(`${main}/held`).catch((error: NodeJS.ErrnoException) => error.code)
  await eventually(() => open.length === 2 || undefined)

  const ended = running.stop()
  await clock.advance(DELAY)
  await assert.rejects(ask(main), { code: 'ECONNREFUSED' })
  // The limit of both began before this moment.
  await clock.advance(10_000)
  await swapped
  await ended
  assert.deepEqual(await Promise.all([first, second]), ['ECONNRESET', 'ECONNRESET'])
})

test('a second stop does not begin anew, and without a delay a stop does not wait', async (t) => {
  const { running, main, said, stopped } = await draining(t)
  const ended = [running.stop(undefined, 0), running.stop()]
  await assert.rejects(ask(main), { code: 'ECONNREFUSED' })
  await Promise.all(ended)
  assert.deepEqual([said(/not ready any more/).length, stopped()], [0, 1])
})

test('the longest delay of all main ports counts, and a list without a port has none', async (t) => {
  const port = (drainDelay: number) =>
    ({ port: 'main', address: '127.0.0.1:0', drainDelay }) satisfies Listener
  const listening = plugin('ports', (gateway) => gateway.provide(Listener, port(7)))
  const two = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.2:0', drainDelay: '9ms' } },
    { use: definePlugin({ ...listening.use, provides: [Listener] }) },
  ])
  assert.equal(two.drainDelay, 9)
  assert.equal((await serving(t, [{ use: 'auth/anonymous' }])).drainDelay, 0)
})
