import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort, listening, opened } from '#kit/listening.js'
import { authority, tlsListening } from '#kit/tls.js'
import { collector, END, startedAt, tracing } from '../collector.js'

const QUEUE = 2_048
const NOT_TAKEN = 'sallyport_trace_lost_total trace/otlp not_taken'
const QUEUE_FULL = 'sallyport_trace_lost_total trace/otlp queue_full'

type Tracing = Awaited<ReturnType<typeof tracing>>

/** Traces this number of requests, and returns the mean milliseconds of one. */
async function traced({ tracer, requestWith }: Tracing, count: number): Promise<number> {
  const request = await requestWith()
  const begun = performance.now()
  for (let each = 0; each < count; each++) tracer.start({ request, message: undefined, startedAt }).end?.(END)
  return (performance.now() - begun) / count
}

async function stopped({ stop }: Tracing): Promise<number> {
  const begun = performance.now()
  await stop()
  return performance.now() - begun
}

const failures = ({ lines }: Tracing) => [
  ...new Set(lines.filter(({ reason }) => reason === 'not_taken').map(({ failure }) => failure)),
]

test('spans are sent in batches, and a stop sends the waiting ones', async (t) => {
  const { url, spans, received, sockets } = await collector(t)
  const list = await tracing(t, { url })
  await traced(list, 1_300)
  assert.ok((await stopped(list)) < 4_000)
  assert.equal(spans().length, 1_300)
  assert.ok(received.length >= 3 && received.length <= 5)
  assert.equal(new Set(spans().map(({ spanId }) => spanId)).size, 1_300)
  assert.deepEqual(
    [...list.counts],
    [
      [QUEUE_FULL, 0],
      [NOT_TAKEN, 0],
    ],
  )
  await eventually(() => sockets.size === 0)
})

test('without a stop, spans are sent after a short delay', async (t) => {
  const { url, spans } = await collector(t)
  const list = await tracing(t, { url })
  await traced(list, 1)
  await eventually(() => spans().length === 1)
})

const flood = (response: ServerResponse): void => {
  response.writeHead(200)
  const chunk = Buffer.alloc(64 * 1024, ' ')
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) if (response.destroyed) return
  }
  response.on('drain', more)
  more()
}

/** Handlers of exports, each with the failure in the log. */
const hostile: Readonly<
  Record<string, readonly [answer: (response: ServerResponse) => void, failure: string]>
> = {
  'says nothing': [() => {}, 'EGRESS_TIMEOUT'],
  'sends a header and nothing more': [(response) => response.writeHead(503).flushHeaders(), 'EGRESS_TIMEOUT'],
  'answers without end, slowly': [
    (response) => {
      response.writeHead(400)
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    },
    'EGRESS_TIMEOUT',
  ],
  'answers without end, fast': [flood, 'EGRESS_FAILED'],
  disconnects: [(response) => void response.socket?.destroy(), 'EGRESS_RESET'],
  refuses: [(response) => void response.writeHead(401, 'CANARY').end('CANARY'), 'HTTP_401'],
  fails: [(response) => void response.writeHead(500).end('CANARY'), 'HTTP_500'],
  'is overloaded, and asks for more at once': [
    (response) => void response.writeHead(503, { 'retry-after': '0' }).end(),
    'EGRESS_FAILED',
  ],
  'asks to come back in a year': [
    (response) => void response.writeHead(429, { 'retry-after': '31536000' }).end(),
    'EGRESS_FAILED',
  ],
}

test('a hostile collector costs its spans, and nothing else', async (t) => {
  const cases = Object.entries(hostile).map(async ([name, [answer, failure]]) => {
    const { url, received, sockets } = await collector(t, (_, response) => answer(response))
    const list = await tracing(t, { url })
    const most = await traced(list, 3_000)
    assert.ok(most < 1, `${name}: ${most} ms for a trace`)
    // The first batches may have been sent by then.
    const full = list.counts.get(QUEUE_FULL) ?? 0
    assert.ok(full > 0 && full <= 3_000 - QUEUE, `${name}: ${full}`)
    const elapsed = await stopped(list)
    assert.ok(elapsed < 3_000, `${name}: it stopped after ${elapsed} ms`)
    assert.equal((list.counts.get(NOT_TAKEN) ?? 0) + full, 3_000, name)
    // The stop does not wait for the next attempts of earlier exports.
    const why = failures(list).filter((each) => each !== 'EGRESS_TIMEOUT' || failure === each)
    assert.deepEqual(why, [failure], name)
    assert.ok(received.length <= 6 * 5, `${name}: ${received.length} attempts`)
    assert.doesNotMatch(JSON.stringify(list.lines), /CANARY/)
    assert.ok(list.lines.length < 100, `${name}: ${list.lines.length} lines`)
    await eventually(() => sockets.size === 0)
  })
  await Promise.all(cases)
})

test('a closed port, a server without HTTP and a redirect cost their spans too', async (t) => {
  const garbage = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.end('SSH-2.0-CANARY\r\n\r\n')
  })
  const { port } = await opened(t, garbage)
  let asked = 0
  const elsewhere = await listening(t, (_, response) => {
    asked++
    response.end()
  })
  const redirecting = await collector(t, (_, response) => {
    response.writeHead(307, { location: elsewhere }).end()
  })
  const cases = [
    [`http://127.0.0.1:${port}/v1/traces`, 'EGRESS_MALFORMED'],
    [`${await closedPort()}/v1/traces`, 'EGRESS_REFUSED'],
    ['http://collector.invalid/v1/traces', 'EGRESS_DNS'],
    [redirecting.url, 'HTTP_307'],
  ] as const
  await Promise.all(
    cases.map(async ([url, failure]) => {
      const list = await tracing(t, { url })
      await traced(list, 10)
      assert.ok((await stopped(list)) < 3_000)
      assert.equal(list.counts.get(NOT_TAKEN), 10)
      assert.deepEqual(failures(list), [failure])
      assert.doesNotMatch(JSON.stringify(list.lines), /CANARY/)
    }),
  )
  assert.equal(asked, 0)
})

test('spans are exported again once the collector is back', async (t) => {
  let isAway = true
  const { url, spans, received } = await collector(t, (_, response) => {
    if (isAway) response.writeHead(400)
    response.end(isAway ? '' : 'no JSON')
  })
  const list = await tracing(t, { url })
  await traced(list, 512)
  await eventually(() => list.counts.get(NOT_TAKEN) === 512)
  isAway = false
  const before = received.length
  await traced(list, 512)
  await eventually(() => received.length > before)
  await list.stop()
  assert.equal(spans().length, 1024)
  assert.equal(list.counts.get(NOT_TAKEN), 512)
})

test('a stop does not wait for the next attempt of a running export', async (t) => {
  let asked = 0
  const { url } = await collector(t, (_, response) => {
    asked++
    response.writeHead(503).end()
  })
  const list = await tracing(t, { url })
  // The first batch is sent at once. Its third attempt is due two seconds after it, or later.
  await traced(list, 512)
  await eventually(() => asked === 1)
  assert.ok((await stopped(list)) < 2_000)
  assert.equal(list.counts.get(NOT_TAKEN), 512)
  assert.deepEqual(failures(list), ['EGRESS_TIMEOUT'])
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  assert.equal(asked, before)
})

/** How many timers, sockets and servers this process has. */
function resources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

test('after a stop no timer and no socket is left for longer than an export takes', async (t) => {
  const url = `${await closedPort()}/v1/traces`
  const before = resources()
  for (let round = 0; round < 2; round++) {
    const list = await tracing(t, { url })
    // The first batch is sent at once, and its next attempt is due in a second.
    await traced(list, 600)
    await list.stop()
    assert.equal(list.counts.get(NOT_TAKEN), 600)
    // Handles close in the next turns of the event loop.
    const isLeft = ([kind, count]: readonly [string, number]) => count > (before.get(kind) ?? 0)
    await eventually(() => ![...resources()].some(isLeft), 5)
  }
})

test('only caCertPath makes a collector with TLS trusted', async (t: TestContext) => {
  const ca = authority(t)
  let asked = 0
  const port = await tlsListening(t, ca.issue(['127.0.0.1']), (request, response) => {
    asked++
    request.resume().on('end', () => response.end('{}'))
  })
  const url = `HTTPS://127.0.0.1:${port}/v1/traces`
  const files = folder(t, { 'ca.crt': ca.certificate })
  const trusting = await tracing(t, { url, caCertPath: `${files}/ca.crt`, headers: { 'x-key': 'k' } })
  await traced(trusting, 1)
  await trusting.stop()
  assert.equal(asked, 1)
  assert.deepEqual(failures(trusting), [])

  const wary = await tracing(t, { url })
  await traced(wary, 1)
  await wary.stop()
  assert.equal(asked, 1)
  assert.deepEqual(failures(wary), ['EGRESS_TLS'])
})
