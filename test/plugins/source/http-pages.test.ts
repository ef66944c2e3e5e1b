import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BASE, idsIn, server, wrapped } from '../registry/registry.js'
import { json, mirror, one, pageOf, remoteRegistry, sync, two } from './remote.js'

test('T16 a page with more servers than the limit is refused before it is read to its end', async (t) => {
  const many = Array.from({ length: 101 }, (_, index) => server(`a.example/s${index}`, '1.0.0'))
  // Not JSON after the first hundred.
  const text = `${JSON.stringify(pageOf(many)).slice(0, -40)},${'0,'.repeat(100_000)}!`
  const { url } = await remoteRegistry(t, (_request, response, times) => {
    if (times === 1) json(response, pageOf([one]))
    else response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  const app = await mirror(t, url, { wholeEvery: 0 })
  const answer = await app.inject(sync)
  assert.match(answer.json().error_description, /more than the 100 servers of its limit/)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('a cursor that is not a string is an error, and not the last page', async (t) => {
  for (const cursor of [1, {}, ['x'], true]) {
    const { url } = await remoteRegistry(t, (_request, response, times) =>
      json(response, times === 1 ? pageOf([one]) : { servers: [two], metadata: { nextCursor: cursor } }),
    )
    const app = await mirror(t, url, { wholeEvery: 0 })
    assert.match((await app.inject(sync)).json().error_description, /nextCursor/)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
  }
})

test('setting the clock does not change when everything is read again', async (t) => {
  const { url, requests } = await remoteRegistry(t, (_request, response) =>
    json(response, pageOf([one, two])),
  )
  const app = await mirror(t, url, { wholeEvery: '1h' })
  const { now } = Date
  t.after(() => {
    Date.now = now
  })
  for (const days of [10, -10, 0]) {
    Date.now = () => now() + days * 86_400_000
    await app.inject(sync)
  }
  assert.deepEqual(
    requests.map((request) => request.url?.includes('updated_since')),
    [false, true, true, true],
  )
})

test('a date in the future hides no later change', async (t) => {
  const future = wrapped(server('a.example/future', '1.0.0'), { updatedAt: '2999-01-01T00:00:00Z' })
  const { url, requests } = await remoteRegistry(t, (_request, response) =>
    json(response, pageOf([one, two, future])),
  )
  const app = await mirror(t, url)
  await app.inject(sync)
  const since = new URL(requests[1]?.url ?? '', url).searchParams.get('updated_since')
  assert.equal(since, '2024-01-01T23:59:00.000Z')
})

test('an ETag belongs to one page of one request: the source sends it for no other', async (t) => {
  for (const [next, options] of [
    ['next', { wholeEvery: 0 }],
    [undefined, {}],
  ] as const) {
    const { url, requests } = await remoteRegistry(t, (request, response) =>
      json(response, request.url?.includes('cursor') ? pageOf([two]) : pageOf([one], next), { etag: '"v1"' }),
    )
    const app = await mirror(t, url, options)
    await app.inject(sync)
    assert.deepEqual([...new Set(requests.map(({ headers }) => headers['if-none-match']))], [undefined])
  }
})

test('an empty registry is accepted as long as it never had a server, and a sync may find no changes', async (t) => {
  const { url } = await remoteRegistry(t, (_request, response, times) =>
    json(response, pageOf(times === 3 ? [one] : [])),
  )
  const app = await mirror(t, url)
  for (let syncs = 0; syncs < 3; syncs++) assert.equal((await app.inject(sync)).statusCode, 200)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})
