import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { twoFreePorts } from '#kit/free-port.js'
import { noHaproxy, startHaproxy } from '#kit/haproxy.js'
import { closedPort, listening } from '#kit/listening.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'

// Too large for the gateway to keep: it sends on what it has.
const HALF = 'x'.repeat(1_000_000)

/** A target that sends back what it gets, keeps event streams open, and tells when a body has begun. */
async function echoing(t: TestContext) {
  const streams: ServerResponse[] = []
  const begun: string[] = []
  const url = await listening(t, (asked, response) => {
    if (asked.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: open\n\n')
      streams.push(response)
      return
    }
    asked.once('data', () => begun.push(String(asked.headers['x-id'])))
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    asked.pipe(response)
  })
  return { url, begun, tell: (text: string) => streams.map((stream) => stream.write(`data: ${text}\n\n`)) }
}

interface Gateway {
  readonly name: string
  readonly main: string
  readonly internal: string
  readonly start: () => StartedProgram
}

async function gateway(
  t: TestContext,
  name: string,
  target: string,
  argv: readonly string[],
): Promise<Gateway> {
  const [port, internalPort] = await twoFreePorts()
  const [main, internal] = [`127.0.0.1:${port}`, `127.0.0.1:${internalPort}`]
  const at = ['--host', '127.0.0.1', '--port', String(port), '--internal-address', internal]
  const all = ['proxy', name, '--target-uri', target, ...at, '--drain-delay', '2s', ...argv]
  return { name, main, internal, start: () => startedProgram(t, all, { patience: 60 }) }
}

interface Answer {
  readonly status: number | undefined
  readonly servedBy: unknown
  readonly body: string
}

async function answerOf(asked: ClientRequest): Promise<Answer> {
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let body = ''
  for await (const chunk of response) body += String(chunk)
  return { status: response.statusCode, servedBy: response.headers['x-served-by'], body }
}

/** Callers that post one body after the other, until they are stopped. */
function load(url: string, callers: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const failures: unknown[] = []
  let count = 0
  let stopped = false
  const caller = async (): Promise<void> => {
    while (!stopped) {
      const body = `${count++} ${'x'.repeat(10_000)}`
      const answer = await answerOf(request(url, { agent, method: 'POST' }).end(body)).catch(String)
      if (typeof answer === 'string' || answer.status !== 200 || answer.body !== body) failures.push(answer)
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  return {
    failures,
    count: () => count,
    more: (further: number) => {
      const goal = count + further
      return eventually(() => count >= goal || undefined, 60)
    },
    stop: async () => {
      stopped = true
      await all
      agent.destroy()
    },
  }
}

const refuses = (host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(`http://${host}`)
    const socket = connect(Number(port), hostname, () => resolve(false))
    socket.on('error', () => resolve(true)).end()
  })

test('two gateways behind HAProxy are restarted in turn, and no request fails', {
  skip: noHaproxy,
}, async (t) => {
  const target = await echoing(t)
  const url = await closedPort()
  // As the callers know it.
  const known = ['--resource-url', url]
  const gateways = [
    await gateway(t, 'one', target.url, known),
    await gateway(t, 'several', target.url, [...known, '--workers', '2']),
  ]
  const running = new Map(gateways.map((each) => [each, each.start()]))
  for (const each of running.values()) await each.ready()
  const balancer = await startHaproxy(t, url, gateways)
  const is = (state: RegExp, { name }: Gateway) =>
    eventually(async () => state.test((await balancer.status(name)) ?? '') || undefined, 60)
  for (const each of gateways) await is(/^UP/, each)
  const calls = load(url, 8)
  t.after(() => calls.stop())

  for (const each of gateways) {
    const { name } = each
    const headers = { 'x-to': name, 'x-id': name }
    const [stream] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage]
    assert.deepEqual([stream.statusCode, stream.headers['x-served-by']], [200, name])
    let events = ''
    stream.on('data', (chunk) => {
      events += String(chunk)
    })
    const ended = new Promise((resolve) => stream.once('close', resolve))
    stream.on('error', () => {})
    const length = { 'content-length': 2 * HALF.length }
    const upload = request(url, { headers: { ...headers, ...length }, method: 'POST' })
    const uploaded = answerOf(upload)
    upload.write(HALF)
    await eventually(() => target.begun.includes(name) || undefined, 60)

    running.get(each)?.stop()
    await is(/^DOWN/, each)
    await calls.more(50)
    await eventually(async () => (await refuses(each.main)) || undefined, 60)
    // Of several processes, the one with the stream may have nothing else in flight, and has ended.
    if (name === 'one') {
      target.tell('after the port was closed')
      await eventually(() => events.includes('after the port was closed') || undefined, 60)
    }
    upload.end(HALF)
    assert.deepEqual(await uploaded, { status: 200, servedBy: name, body: HALF + HALF })
    await ended
    assert.equal(await running.get(each)?.ended(), 0)

    running.set(each, each.start())
    await is(/^UP/, each)
    await calls.more(50)
  }
  await calls.stop()
  t.diagnostic(`${calls.count()} requests, ${calls.failures.length} failed`)
  assert.deepEqual(calls.failures, [])
})
