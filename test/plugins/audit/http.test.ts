import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { boot, planList } from 'sallyport/embed'
import { contractSuite } from 'sallyport/testing'
import { SharedResources } from '#core/kernel/shared-resources.js'
import { contextFor } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'
import { AGAIN, LOSING, LOST, WAITING } from './auditing.js'
import { event, idsIn, upTo } from './feeder.js'
import { type Received, receiver, sending } from './receiver.js'

const idsOf = (received: readonly Received[]): string[] => received.flatMap(({ body }) => idsIn(body))

contractSuite('audit/http', async (t) => {
  const { url } = await receiver(t)
  return { list: [{ use: 'audit/http', with: { url, allowPrivateIP: true } }] }
})

test('events are sent in order, many in one request, with the token and the headers', async (t) => {
  const place = folder(t, { token: 'first\n' })
  const { url, received } = await receiver(t)
  const { feed } = await sending(t, {
    url,
    bearerTokenFile: join(place, 'token'),
    headers: { 'x-key': 'own' },
  })
  for (const id of upTo(1_000)) feed(event(id))
  await eventually(() => idsOf(received).length === 1_000)

  assert.deepEqual(idsOf(received), upTo(1_000))
  assert.equal(received.length, 2)
  for (const { headers } of received) {
    assert.equal(headers['content-type'], 'application/x-ndjson')
    assert.equal(headers.authorization, 'Bearer first')
    assert.equal(headers['x-key'], 'own')
  }
  writeFileSync(join(place, 'token'), 'second\n')
  await eventually(() => {
    feed(event('later'))
    return received.at(-1)?.headers.authorization === 'Bearer second'
  })
})

test('an array is one JSON document', async (t) => {
  const { url, received } = await receiver(t)
  const { feed } = await sending(t, { url, format: 'array' })
  for (const id of upTo(3)) feed(event(id))
  await eventually(() => received.length > 0)

  const events: readonly { requestId: string }[] = JSON.parse(received[0]?.body ?? '')
  assert.deepEqual(
    events.map(({ requestId }) => requestId),
    upTo(3),
  )
  assert.equal(received[0]?.headers['content-type'], 'application/json')
})

test('while the receiver fails, events wait, and then arrive once and in order', async (t) => {
  const { url, received } = await receiver(t, (response, all) => {
    const status = [408, 429, 403][all.length - 1]
    if (status !== undefined) response.writeHead(status, status === 429 ? { 'retry-after': '1' } : {}).end()
  })
  const { feed, said, lost } = await sending(t, { url })
  feed(event('0'))
  await eventually(() => received.length === 1)
  for (const id of upTo(50).slice(1)) feed(event(id))
  await eventually(() => said(AGAIN).length === 1, 40)

  assert.deepEqual(idsOf(received.slice(3)), upTo(50))
  assert.equal(said(WAITING).length, 1)
  assert.equal(lost(), 0)
})

test('a 2xx accepts the events, however long its body is', async (t) => {
  const { url, received } = await receiver(t, (response) => response.end('x'.repeat(1024 * 1024)))
  const { running, feed, said } = await sending(t, { url })
  feed(event('1'))
  await eventually(() => received.length > 0)
  await running.stop()
  assert.deepEqual(idsOf(received), ['1'])
  assert.deepEqual(said(WAITING), [])
})

test('after a refused token, the new token in the file is used, and no event is lost', async (t) => {
  const place = folder(t, { token: 'expired\n' })
  const { url, received } = await receiver(t, (response, all) => {
    if (all.at(-1)?.headers.authorization !== 'Bearer renewed') response.writeHead(401).end()
  })
  const { feed, said, lost } = await sending(t, { url, bearerTokenFile: join(place, 'token') })
  for (const id of upTo(3)) feed(event(id))
  await eventually(() => said(WAITING).length === 1)
  assert.equal(said(WAITING)[0]?.['reason'], 'the receiver responds with 401')

  writeFileSync(join(place, 'token'), 'renewed\n')
  await eventually(() => said(AGAIN).length === 1, 30)
  assert.deepEqual(idsIn(received.at(-1)?.body ?? ''), upTo(3))
  assert.equal(lost(), 0)
})

test('events that are refused for good are dropped, counted and logged, and the next are sent', async (t) => {
  const { url, received } = await receiver(t, (response, all) => {
    if (all.length === 1) response.writeHead(400).end()
  })
  const { feed, said, lost } = await sending(t, { url })
  for (const id of upTo(3)) feed(event(id))
  await eventually(() => received.length === 1)
  feed(event('next'))
  await eventually(() => said(AGAIN).length === 1)

  assert.deepEqual(idsOf(received.slice(1)), ['next'])
  assert.equal(lost(), 3)
  assert.equal(said(LOSING)[0]?.['reason'], 'the receiver responds with 400')
  assert.equal(said(AGAIN)[0]?.['lost'], 3)
})

test('a stop sends the waiting events, and logs how many it could not send', async (t) => {
  const { url, received } = await receiver(t)
  const { running, feed } = await sending(t, { url })
  for (const id of upTo(1_200)) feed(event(id))
  await running.stop()
  assert.deepEqual(idsOf(received), upTo(1_200))

  const away = await sending(t, { url: await closedPort() })
  for (const id of upTo(7)) away.feed(event(id))
  await away.running.stop()
  assert.equal(away.lost(), 7)
  assert.equal(away.said(LOST)[0]?.['lost'], 7)
})

test('a stop with a request in flight also sends the events that came after it', async (t) => {
  let release: () => void = () => {}
  const { url, received } = await receiver(t, (response, all) => {
    if (all.length > 1) return
    response.writeHead(200)
    release = () => void response.end()
  })
  const { running, feed, lost } = await sending(t, { url })
  feed(event('0'))
  await eventually(() => received.length === 1)
  feed(event('1'))
  const stopped = running.stop()
  release()
  await stopped
  assert.deepEqual(idsOf(received), ['0', '1'])
  assert.equal(lost(), 0)
})

test('a reload loses and repeats no event, with a request in flight and a new receiver', async (t) => {
  const sharedResources = new SharedResources()
  let release: () => void = () => {}
  const slow = await receiver(t, (response) => {
    response.writeHead(200)
    release = () => void response.end()
  })
  const second = await receiver(t)
  const before = await sending(t, { url: slow.url }, { sharedResources })
  before.feed(event('0'))
  await eventually(() => slow.received.length === 1)
  before.feed(event('1'))
  const after = await sending(t, { url: second.url }, { sharedResources })
  after.feed(event('2'))
  before.feed(event('3'))
  const stopped = before.running.stop()
  release()
  await stopped
  await eventually(() => idsOf(second.received).length === 3)
  await after.running.stop()

  assert.deepEqual(idsOf(slow.received), ['0'])
  assert.deepEqual(idsOf(second.received), ['1', '2', '3'])
  assert.equal(before.lost() + after.lost(), 0)
})

test('a reload that fails does not change where events go', async (t) => {
  const sharedResources = new SharedResources()
  const [before, after] = [await receiver(t), await receiver(t)]
  const { feed } = await sending(t, { url: before.url }, { sharedResources })
  const fails = plugin('fails', (gateway) =>
    gateway.onStart(async () => {
      feed(event('1'))
      await eventually(() => before.received.length + after.received.length > 0)
      throw new Error('on purpose')
    }),
  )
  const next = { use: 'audit/http', with: { url: after.url, allowPrivateIP: true } }
  await assert.rejects(boot([next, fails], contextFor({ sharedResources })), /on purpose/)

  feed(event('2'))
  await eventually(() => idsOf(before.received).length > 1)
  assert.deepEqual(idsOf(before.received), ['1', '2'])
  assert.deepEqual(after.received, [])
})

test('a check finds wrong options without a start', async () => {
  const refused = async (options: Readonly<Record<string, unknown>>): Promise<string> => {
    const list = [{ use: 'audit/http', with: options }]
    const error = await planList(list, contextFor({})).catch((failure: unknown) => failure)
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ place, message }) => `${place}: ${message}`).join()
  }
  const url = 'https://siem.example.com/in'
  assert.match(await refused({ url: 'http://siem.example.com/in' }), /\.url .*: expected https/)
  assert.match(await refused({ url: 'https://127.0.0.1/in' }), /\.allowPrivateIP .*: is needed/)
  assert.match(await refused({ url: 'https://user:secret@siem.example.com' }), /without user/)
  assert.match(await refused({ url, headers: { 'Content-Type': 'text/plain' } }), /`format` decides it/)
  assert.match(await refused({ url, headers: { host: 'other' } }), /may not be set/)
  assert.match(await refused({ url, headers: { 'x-key': 'two\nlines' } }), /expected a header value/)
  const twice = { url, headers: { Authorization: 'x' }, bearerTokenFile: './token' }
  assert.match(await refused(twice), /authorization.*: remove it, or `bearerTokenFile`/)
  await planList([{ use: 'audit/http', with: { url, headers: { Authorization: 'x' } } }], contextFor({}))
})

test('a token that cannot be read ends the start', async () => {
  const options = { url: 'https://siem.example.com/in', bearerTokenFile: './nowhere' }
  await assert.rejects(boot([{ use: 'audit/http', with: options }], contextFor({})), /cannot read .*nowhere/)
})
