import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Entry, type RegistryView, ServerCatalogue } from 'sallyport'
import { booted } from 'sallyport/testing'
import { issuing } from '#kit/issuer.js'
import { providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import {
  BASE,
  fileRegistry,
  idsIn,
  internalRoutes,
  type ListBody,
  OFFICIAL,
  server,
  wrapped,
} from './registry.js'

const some = [
  server('b.example/two', '1.9.0'),
  server('b.example/two', '1.10.0'),
  server('b.example/two', '1.10.0-rc.1'),
  server('b.example/two', 'nightly'),
  wrapped(server('a.example/One', '2.0.0'), { status: 'deprecated', publishedAt: '2024-05-01T00:00:00Z' }),
  wrapped(server('c.example/gone', '1.0.0'), {
    status: 'deleted',
    publishedAt: '2024-05-01T00:00:00Z',
    updatedAt: '2024-06-01T00:00:00Z',
  }),
  wrapped(server('c.example/half', '1.0.0'), { status: 'active', publishedAt: '2024-05-01T00:00:00Z' }),
  wrapped(server('c.example/half', '2.0.0'), { status: 'deleted', publishedAt: '2024-05-02T00:00:00Z' }),
]

const visible = [
  'a.example/One@2.0.0',
  'b.example/two@1.10.0',
  'b.example/two@1.10.0-rc.1',
  'b.example/two@1.9.0',
  'b.example/two@nightly',
  'c.example/half@1.0.0',
]

test('a list is sorted by name, then by version, newest first, and has no deleted versions', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const response = await app.inject(BASE)

  assert.equal(response.statusCode, 200)
  assert.match(String(response.headers['content-type']), /^application\/json/)
  assert.deepEqual(idsIn(response.json()), visible)
  assert.deepEqual(response.json().metadata, { count: visible.length })
})

test('a method without a route gets 405 with the allowed methods: OPTIONS and QUERY too', async (t) => {
  const { list } = fileRegistry(t, some)
  for (const more of [[], [{ use: 'http/cors' }]]) {
    for (const app of [await booted(t, [...list, ...more]), await booted(t, [...more, ...list])]) {
      for (const method of ['OPTIONS', 'QUERY', 'DELETE', 'POST'] as const) {
        const { statusCode, headers } = await app.inject({ method: method as 'POST', url: BASE })
        assert.deepEqual([statusCode, headers.allow], [405, 'GET, HEAD'], method)
      }
      const preflight = { origin: 'http://a.example', 'access-control-request-method': 'GET' }
      const { statusCode } = await app.inject({ method: 'OPTIONS', url: BASE, headers: preflight })
      assert.equal(statusCode, more.length === 0 ? 404 : 204)
    }
  }
})

test('the latest version is the newest that is not deleted', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const list: ListBody = (await app.inject(`${BASE}?version=latest`)).json()

  assert.deepEqual(idsIn(list), ['a.example/One@2.0.0', 'b.example/two@1.10.0', 'c.example/half@1.0.0'])
  assert.ok(list.servers.every(({ _meta }) => _meta[OFFICIAL]?.['isLatest'] === true))
  const two = await app.inject(`${BASE}/b.example%2Ftwo/versions/latest`)
  assert.equal(two.json().server.version, '1.10.0')
})

test('filters: search in any case, one version, updated since, deleted', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const ids = async (query: string) => idsIn((await app.inject(`${BASE}?${query}`)).json())

  assert.deepEqual(await ids('search=oNe'), ['a.example/One@2.0.0'])
  assert.deepEqual(await ids('search=nowhere'), [])
  assert.deepEqual(await ids('version=1.0.0'), ['c.example/half@1.0.0'])
  assert.deepEqual(await ids('version=1.0.0&include_deleted=true'), [
    'c.example/gone@1.0.0',
    'c.example/half@1.0.0',
  ])
  assert.deepEqual(await ids('updated_since=2024-06-01T00:00:00Z&search=c.example'), ['c.example/gone@1.0.0'])
  assert.deepEqual(await ids('updated_since=2024-06-01T02:00:00%2B02:00&search=c.ex'), [
    'c.example/gone@1.0.0',
  ])
  assert.deepEqual(await ids('updated_since=2024-06-01T00:00:00.001Z&search=c.example'), [])
})

test('versions of a server, and one of them', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const status = async (url: string) => (await app.inject(BASE + url)).statusCode

  const all = await app.inject(`${BASE}/b.example%2Ftwo/versions`)
  assert.deepEqual(idsIn(all.json()), visible.slice(1, 5))
  assert.equal(
    (await app.inject(`${BASE}/b.example%2Ftwo/versions/1.10.0-rc.1`)).json().server.version,
    '1.10.0-rc.1',
  )
  assert.equal(await status('/b.example%2Ftwo/versions/9.9.9'), 404)
  assert.equal(await status('/b.example%2Fthree/versions'), 404)
  assert.equal(await status('/c.example%2Fgone/versions'), 404)
  assert.equal(await status('/c.example%2Fgone/versions?include_deleted=true'), 200)
  assert.equal(await status('/c.example%2Fhalf/versions/2.0.0'), 404)
  assert.equal(await status('/c.example%2Fhalf/versions/2.0.0?include_deleted=true'), 200)
})

test('a wrong parameter is a 400 that names it, never its value', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const wrong = [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=CANARY',
    'limit=2&limit=3',
    'cursor=CANARY',
    'cursor=a&cursor=b',
    'updated_since=CANARY',
    'updated_since=2024-06-01',
    'updated_since=2024-02-30T00:00:00Z',
    'version=',
    'include_deleted=CANARY',
    `search=${'x'.repeat(201)}`,
  ]
  for (const query of wrong) {
    const response = await app.inject(`${BASE}?${query}`)
    assert.equal(response.statusCode, 400, query)
    assert.equal(response.json().error, 'invalid_request')
    assert.ok(response.json().error_description.includes(`"${query.split('=')[0]}"`), response.body)
    assert.doesNotMatch(response.body, /CANARY/)
  }
})

test('pages show every version once, whatever their size', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  for (const limit of [1, 2, 3, 5, 100]) {
    const walked: string[] = []
    let cursor = ''
    do {
      const page: ListBody = (await app.inject(`${BASE}?limit=${limit}&cursor=${cursor}`)).json()
      assert.equal(page.metadata.count, page.servers.length)
      walked.push(...idsIn(page))
      cursor = page.metadata.nextCursor ?? ''
    } while (cursor !== '')
    assert.deepEqual(walked, visible)
  }
})

const MOST_BYTES = 1024 * 1024

/** All pages from a URL on, and the bytes of the largest. */
async function walked(app: Awaited<ReturnType<typeof booted>>, url: string) {
  const ids: string[] = []
  let [cursor, largest, pages] = ['', 0, 0]
  do {
    const response = await app.inject(`${url}cursor=${cursor}`)
    assert.equal(response.statusCode, 200)
    const page: ListBody = response.json()
    assert.equal(page.metadata.count, page.servers.length)
    ids.push(...idsIn(page))
    largest = Math.max(largest, response.rawPayload.length)
    pages++
    cursor = page.metadata.nextCursor ?? ''
  } while (cursor !== '')
  return { ids, largest, pages }
}

const large = (name: string, version: string, more = 0) =>
  server(name, version, { _meta: { 'com.example/large': 'x'.repeat(200_000 + more) } })

test('no page has more than 1 MiB, and its cursor goes on where it ends', async (t) => {
  const versions = Array.from({ length: 30 }, (_, index) => `1.0.${index}`)
  const app = await booted(
    t,
    fileRegistry(
      t,
      versions.map((each) => large('a.example/large', each)),
    ).list,
  )
  const newestFirst = versions.toReversed().map((each) => `a.example/large@${each}`)
  for (const url of [`${BASE}?limit=100&`, `${BASE}?`, `${BASE}/a.example%2Flarge/versions?`]) {
    const { ids, largest, pages } = await walked(app, url)
    assert.deepEqual(ids, newestFirst)
    assert.ok(
      largest < MOST_BYTES + 1_000 && pages === 6,
      `${url}: ${pages} pages, the largest ${largest} bytes`,
    )
  }
})

test('a version that is larger than a page has a page of its own', async (t) => {
  const documents = [large('a.example/a', '1.0.0', MOST_BYTES), large('a.example/a', '2.0.0', MOST_BYTES)]
  const app = await booted(t, fileRegistry(t, documents, { maxDocumentBytes: 2 * MOST_BYTES }).list)
  for (const url of [`${BASE}?`, `${BASE}/a.example%2Fa/versions?`])
    assert.deepEqual((await walked(app, url)).ids, ['a.example/a@2.0.0', 'a.example/a@1.0.0'])
})

test('a cursor of versions goes on behind a version that is deleted meanwhile, and is a 400 when it is gone', async (t) => {
  const versions = Array.from({ length: 12 }, (_, index) => `1.0.${index}`)
  const documents: object[] = versions.map((each) => large('a.example/large', each))
  const { list, write } = fileRegistry(t, documents)
  const app = await booted(t, [...list, internalRoutes])
  const url = `${BASE}/a.example%2Flarge/versions`
  const first: ListBody = (await app.inject(url)).json()
  const last = first.servers.at(-1)?.server.version ?? ''
  const rest = async () => app.inject(`${url}?cursor=${first.metadata.nextCursor}`)

  documents[versions.indexOf(last)] = wrapped(large('a.example/large', last), { status: 'deleted' })
  write(documents)
  await app.inject({ method: 'POST', url: '/internal/sync/main' })
  assert.equal(idsIn((await rest()).json())[0], `a.example/large@${versions[versions.indexOf(last) - 1]}`)

  write(documents.filter((_, index) => index !== versions.indexOf(last)))
  await app.inject({ method: 'POST', url: '/internal/sync/main' })
  assert.equal((await rest()).statusCode, 400)
})

test('a cursor keeps its position after a sync that removed its version and added others', async (t) => {
  const { list, write } = fileRegistry(t, some)
  const app = await booted(t, [...list, internalRoutes])
  const page: ListBody = (await app.inject(`${BASE}?limit=3`)).json()
  assert.equal(idsIn(page).at(-1), 'b.example/two@1.10.0-rc.1')

  write([
    ...some.filter((each) => !('version' in each && each.version === '1.10.0-rc.1')),
    server('a.example/zero', '1.0.0'),
    server('b.example/two', '1.9.5'),
  ])
  assert.equal((await app.inject({ method: 'POST', url: '/internal/sync/main' })).json().outcome, 'changed')
  const rest = await app.inject(`${BASE}?cursor=${page.metadata.nextCursor}`)
  assert.deepEqual(idsIn(rest.json()), [
    'b.example/two@1.9.5',
    'b.example/two@1.9.0',
    'b.example/two@nightly',
    'c.example/half@1.0.0',
  ])
})

test('an invented cursor is a 400 and never a 500', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const made = fc.oneof(
    fc.string({ minLength: 1, maxLength: 60 }),
    fc.base64String({ minLength: 1, maxLength: 60 }),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
  )
  await fc.assert(
    fc.asyncProperty(made, async (cursor) => {
      const { statusCode } = await app.inject(`${BASE}?cursor=${encodeURIComponent(cursor)}`)
      assert.equal(statusCode, 400)
    }),
    { numRuns: runs(200) },
  )
})

test('an unchanged response is a 304, and HEAD has the headers of GET', async (t) => {
  const { list, write } = fileRegistry(t, some)
  const app = await booted(t, [...list, internalRoutes])
  const first = await app.inject(BASE)
  const etag = String(first.headers.etag)
  const status = async (tag: string) =>
    (await app.inject({ url: BASE, headers: { 'if-none-match': tag } })).statusCode

  for (const tag of [etag, etag.slice(2), `"x", ${etag}`, '*']) assert.equal(await status(tag), 304, tag)
  assert.equal(await status('"x"'), 200)
  assert.match(String(first.headers.vary), /Authorization/)
  const head = await app.inject({ method: 'HEAD', url: BASE })
  assert.equal(head.statusCode, 200)
  assert.equal(head.body, '')
  for (const name of ['etag', 'content-length', 'content-type', 'cache-control', 'vary']) {
    assert.equal(head.headers[name], first.headers[name], name)
  }

  write([...some, server('z.example/new', '1.0.0')])
  await app.inject({ method: 'POST', url: '/internal/sync/main' })
  assert.equal(await status(etag), 200)
})

test('a response is made once for each snapshot, however its request is written', async (t) => {
  let made = 0
  const snapshot = (): RegistryView => ({
    name: 'default',
    list: () => ({ versions: [], nextCursor: String(++made) }),
    versions: () => [],
  })
  let view = snapshot()
  const catalogue = { names: ['default'], registry: () => view }
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    providing('catalogue', ServerCatalogue, catalogue),
    { use: 'registry/api', with: { anonymous: true } },
  ])
  const v0 = BASE.replace('v0.1', 'v0')
  const cursor = async (url: string) => (await app.inject(url)).json().metadata.nextCursor

  const same = [BASE, BASE, v0, `${BASE}?unknown=1`, `${BASE}?limit=030&unknown=2`, `${BASE}?cursor=`]
  for (const url of same) assert.equal(await cursor(url), '1', url)
  view = snapshot()
  assert.deepEqual([await cursor(BASE), await cursor(v0)], ['2', '2'])
  for (const since of ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00.000Z', '2024-01-01T01:00:00%2B01:00'])
    assert.equal(await cursor(`${BASE}?updated_since=${since}`), '3', since)
  assert.deepEqual([await cursor(`${BASE}?search=Ab`), await cursor(`${BASE}?search=aB`)], ['4', '4'])
})

test('gzip for clients that accept it, with the same bytes inside', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const plain = await app.inject(BASE)
  const ask = (encoding: string) => app.inject({ url: BASE, headers: { 'accept-encoding': encoding } })

  for (const encoding of ['gzip', 'br, gzip', 'gzip;q=0.5', 'deflate,GZIP']) {
    const response = await ask(encoding)
    assert.equal(response.headers['content-encoding'], 'gzip', encoding)
    assert.equal(gunzipSync(response.rawPayload).toString('utf8'), plain.body)
    assert.equal(response.headers.etag, plain.headers.etag)
    assert.match(String(response.headers.vary), /Accept-Encoding/)
  }
  for (const encoding of ['identity', 'br', 'gzip;q=0', 'gzip; q=0.000', 'xgzip']) {
    assert.equal((await ask(encoding)).headers['content-encoding'], undefined, encoding)
  }
})

test('without a token the response does not tell whether a registry or a server exists', async (t) => {
  const issuer = await issuing(t)
  const { list } = fileRegistry(t, some)
  const guarded = list.flatMap((entry): Entry[] =>
    entry.use === 'auth/anonymous'
      ? [{ use: 'discovery/issuer' }, { use: 'auth/oidc', with: issuer.provider }]
      : entry.use === 'registry/api' || entry.use === 'registry/openapi'
        ? [{ use: entry.use }]
        : [entry],
  )
  const app = await booted(t, guarded)
  const urls = [
    BASE,
    '/registry/none/v0.1/servers',
    `${BASE}/no%2Fone/versions`,
    `${BASE}?limit=0`,
    '/nowhere',
  ]
  const statuses = (headers: Record<string, string>) =>
    Promise.all(urls.map(async (url) => (await app.inject({ url, headers })).statusCode))

  assert.deepEqual(await statuses({}), [401, 401, 401, 401, 401])
  assert.equal((await app.inject({ method: 'TRACE', url: BASE })).statusCode, 401)
  const authorization = `Bearer ${await issuer.jwt()}`
  assert.deepEqual(await statuses({ authorization }), [200, 404, 404, 400, 404])
  const answer = await app.inject({ url: BASE, headers: { authorization } })
  assert.equal(answer.headers['cache-control'], 'private, no-cache')
  assert.equal((await app.inject('/openapi.json')).statusCode, 200)
})

test('a known path is 405 for methods other than GET and HEAD, an unknown one 404', async (t) => {
  const app = await booted(t, fileRegistry(t, some).list)
  const server = `${BASE}/b.example%2Ftwo/versions`
  for (const method of ['TRACE', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    for (const url of ['/openapi.json', BASE, server, `${server}/latest`]) {
      const body = ['TRACE', 'DELETE'].includes(method) ? {} : { body: '<a/>' }
      const answer = await app.inject({ method, url, headers: { 'content-type': 'text/xml' }, ...body })
      assert.deepEqual([answer.statusCode, answer.headers['allow']], [405, 'GET, HEAD'], `${method} ${url}`)
      assert.equal(answer.json().error, 'method_not_allowed')
    }
    assert.equal((await app.inject({ method, url: '/registry/default/v0.1/other' })).statusCode, 404)
  }
})
