import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { eventually } from '#kit/captured-log.js'
import { opened } from '#kit/listening.js'
import { runs } from '#kit/runs.js'
import { AGAIN, LOSING, LOST, WAITING } from './auditing.js'
import { event, idsIn, upTo } from './feeder.js'
import { receiver, sending } from './receiver.js'

/** The number of events that are sent at once. */
const FULL = 500

const SECRET = 'not-for-the-log'

/** A server with this handler of connections. */
async function connecting(t: TestContext, use: (socket: Socket) => void): Promise<string> {
  const { port } = await opened(t, createServer(use))
  return `http://127.0.0.1:${port}/in`
}

const hostile: Readonly<Record<string, (socket: Socket) => void>> = {
  'never answers': () => {},
  'closes at once': (socket) => socket.destroy(),
  'answers no HTTP': (socket) => void socket.end('nonsense\r\n\r\n'),
  redirects: (socket) =>
    void socket.once('data', () =>
      socket.end('HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
    ),
  'fails without an end': (socket) =>
    void socket.once('data', () => {
      socket.write('HTTP/1.1 503 x\r\n\r\n')
      const more = (): void => void (socket.writable && socket.write('x'.repeat(65_536), more))
      more()
    }),
  'answers byte by byte': (socket) =>
    void socket.once('data', () => {
      socket.write('HTTP/1.1 200 x\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(timer))
    }),
}

for (const [does, use] of Object.entries(hostile)) {
  test(`a receiver that ${does} delays no request, and lost events are counted`, async (t) => {
    const url = await connecting(t, use)
    const { running, feed, said, lines, lost } = await sending(t, {
      url,
      headers: { authorization: SECRET },
    })
    const wide = 'x'.repeat(10_000)
    const began = performance.now()
    for (const id of upTo(1_000)) feed(event(id, { subject: wide }))
    const took = performance.now() - began
    await eventually(() => said(WAITING).length === 1)
    // 8 MiB of lines wait, each of 10 kB.
    assert.ok(lost() > 100 && lost() < 250, `${lost()}`)
    assert.ok(took < 2_000, `${took} ms`)
    assert.equal(said(LOSING).length, 1)

    await running.stop()
    assert.equal(lost(), 1_000)
    assert.equal(said(LOST)[0]?.['lost'], 1_000)
    assert.equal(JSON.stringify(lines).includes(SECRET), false)
  })
}

test('the log reports a receiver that hangs, and a stop does not wait for it', async (t) => {
  const url = await connecting(t, () => {})
  const { running, feed, said, lost } = await sending(t, { url })
  feed(event('1'))
  await eventually(() => said(WAITING).length === 1)
  assert.match(String(said(WAITING)[0]?.['reason']), /more than 5 s/)
  const began = performance.now()
  await running.stop()
  assert.ok(performance.now() - began < 8_000)
  assert.equal(lost(), 1)
})

test('the log reports repeated losses once', async (t) => {
  const { url, received } = await receiver(t)
  const { running, feed, said, lost } = await sending(t, { url })
  const wide = 'x'.repeat(100_000)
  for (let round = 0; round < 10; round++) {
    const before = { received: received.length, lost: lost() }
    for (const id of upTo(200)) feed(event(id, { subject: wide }))
    assert.ok(lost() > before.lost)
    // Memory holds eight batches: after six of them it is less than half full.
    await eventually(() => received.length >= before.received + 6)
  }
  assert.equal(said(LOSING).length, 1)
  assert.equal(said(AGAIN).length, 0)
  await eventually(() => said(AGAIN).length === 1, 20)
  assert.equal(said(AGAIN)[0]?.['lost'], lost())
  await running.stop()
  assert.deepEqual([said(LOSING).length, said(AGAIN).length, said(LOST).length], [1, 1, 0])
})

test('an event after the end is lost, and the log says why', async (t) => {
  const { url } = await receiver(t)
  const { running, feed, said, losses } = await sending(t, { url })
  assert.deepEqual(losses, [0], 'the counter is there before the first loss')
  await running.stop()
  feed(event('1'))
  feed(event('2'))
  assert.deepEqual(losses, [0, 1, 1])
  assert.equal(said(LOSING).length, 0)
  assert.deepEqual(
    said(LOST).map((line) => line['lost']),
    [1, 2],
  )
  assert.match(String(said(LOST)[0]?.['reason']), /after the audit had ended/)
})

test('whatever the status of the response, each event is accepted, refused or waits', async (t) => {
  const header = fc.oneof(fc.string(), fc.constantFrom('0', '-1', '1e9', 'Wed, 21 Oct 2015 07:28:00 GMT'))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 200, max: 599 }), header, async (status, retryAfter) => {
      const value = retryAfter.replaceAll(/[^\x20-\x7e]/g, '')
      const { url, received } = await receiver(t, (response) => {
        response.writeHead(status, { 'retry-after': value }).end()
      })
      const { running, feed, said, lost } = await sending(t, { url })
      for (const id of upTo(FULL)) feed(event(id))
      await eventually(() => received.length > 0)
      await running.stop()
      assert.deepEqual(idsIn(received[0]?.body ?? ''), upTo(FULL))
      assert.equal(lost(), status < 300 ? 0 : FULL)
      if (status < 300) return
      // For `fetch` a 407 is a failure of the connection: only a proxy may send it.
      const isRefused = status >= 400 && status < 500 && ![401, 403, 407, 408, 429].includes(status)
      const reason = isRefused ? `the receiver responds with ${status}` : 'the gateway stops'
      assert.equal(said(LOSING)[0]?.['reason'], reason)
    }),
    { numRuns: runs(40), examples: [[407, '0']] },
  )
})
