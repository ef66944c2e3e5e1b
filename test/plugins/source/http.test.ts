import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { contractSuite, listening, serving } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { BASE, fileRegistry, idsIn, type ListBody, server, wrapped } from '../registry/registry.js'
import { json, mirror, one, pageOf, remoteRegistry, sync, two } from './remote.js'

test('the source mirrors another registry page by page, then by its changes', async (t) => {
  const many = Array.from({ length: 250 }, (_, index) => server(`a.example/s${index}`, '1.0.0', { x: 1 }))
  const upstream = fileRegistry(t, many)
  const { addresses } = await serving(t, [listen, ...upstream.list])
  const app = await mirror(t, `${addresses.main}/registry/default`)
  const all = async (query = '') => (await app.inject(`${BASE}?limit=100${query}`)).json()

  assert.equal((await app.inject(sync)).json().versions, 250)
  const entry = (await all()).servers[0]
  const theirs = (await (await fetch(`${addresses.main}${BASE}?limit=1`)).json()) as ListBody
  assert.deepEqual(entry, theirs.servers[0])

  upstream.write([...many, server('z.example/new', '1.0.0')])
  await fetch(`${addresses.internal}/sync/main`, { method: 'POST' })
  const answer = (await app.inject(sync)).json()
  assert.deepEqual(answer, { source: 'remote', outcome: 'changed', versions: 251, refused: 0 })
  assert.deepEqual(idsIn(await all('&search=z.example')), ['z.example/new@1.0.0'])
})

test('after the first sync it asks for changes, and removes deleted servers', async (t) => {
  const deleted = wrapped(server('a.example/one', '1.0.0'), {
    status: 'deleted',
    publishedAt: '2024-01-01T00:00:00Z',
    updatedAt: '2024-02-01T00:00:00Z',
  })
  const { url, requests } = await remoteRegistry(t, (request, response) => {
    json(response, pageOf(request.url?.includes('updated_since') ? [deleted] : [one, two]))
  })
  const app = await mirror(t, url)
  await app.inject(sync)
  assert.deepEqual(
    requests.map((request) => new URL(request.url ?? '', url).searchParams.get('updated_since')),
    [null, '2024-01-01T23:59:00.000Z'],
  )
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/two@1.0.0'])
})

test('the source requests deleted versions, and omits the parameter for a registry that refuses it', async (t) => {
  const gone = wrapped(server('a.example/gone', '1.0.0'), { status: 'deleted' })
  for (const status of [200, 400, 422]) {
    const { url, requests } = await remoteRegistry(t, (request, response) => {
      const asked = new URL(request.url ?? '', 'http://x').searchParams.get('include_deleted')
      if (asked !== null && status !== 200) return response.writeHead(status).end('{}')
      const [servers, next] = request.url?.includes('cursor') ? [[two], undefined] : [[one], 'next']
      return json(response, pageOf(asked === 'true' ? [...servers, gone] : servers, next))
    })
    const app = await mirror(t, url)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
    const kept = idsIn((await app.inject(`${BASE}?include_deleted=true&search=gone`)).json())
    assert.deepEqual(kept, status === 200 ? ['a.example/gone@1.0.0'] : [])
    assert.equal(requests.length, status === 200 ? 2 : 3)
  }
})

test('the source reads everything again at wholeEvery, and removes missing servers', async (t) => {
  const { url, requests } = await remoteRegistry(t, (_request, response, times) => {
    json(response, pageOf(times === 1 ? [one, two] : [two]))
  })
  const app = await mirror(t, url, { wholeEvery: 0 })
  await app.inject(sync)
  assert.ok(requests.every((request) => !request.url?.includes('updated_since')))
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/two@1.0.0'])
})

test('a response of one page is requested by its ETag, and 304 means that nothing changed', async (t) => {
  const { url, requests } = await remoteRegistry(t, (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end()
    else json(response, pageOf([one]), { etag: '"v1"' })
  })
  const app = await mirror(t, url, { wholeEvery: 0 })
  assert.equal((await app.inject(sync)).json().outcome, 'unchanged')
  assert.deepEqual(
    requests.map(({ headers }) => headers['if-none-match']),
    [undefined, '"v1"'],
  )
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)
})

test('configured headers and the token of a file are sent', async (t) => {
  const root = folder(t)
  writeFileSync(join(root, 'token'), 'remote-token\n', { mode: 0o600 })
  const { url, requests } = await remoteRegistry(t, (_request, response) => json(response, pageOf([one])))
  await mirror(t, url, { headers: { 'X-Api-Key': 'k' }, bearerTokenFile: join(root, 'token') })
  assert.equal(requests[0]?.headers['x-api-key'], 'k')
  assert.equal(requests[0]?.headers.authorization, 'Bearer remote-token')
})

const faults: Readonly<Record<string, RequestListener>> = {
  'an empty list': (_request, response) => json(response, pageOf([])),
  'an HTML page': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>all is well</body></html>')
  },
  'other JSON': (_request, response) => json(response, { ok: true }),
  'a truncated body': (_request, response) => {
    response.writeHead(200, { 'content-length': '500' })
    response.write('{"servers":[')
    response.socket?.destroySoon()
  },
  'half of a body that says it is whole': (_request, response) => {
    response.writeHead(200).end('{"servers":[{"server":{"name":"a.example/x"')
  },
  silence: () => {},
  'pages that repeat': (_request, response) => json(response, pageOf([two], 'again')),
  'a redirect': (_request, response) => {
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
  },
  '401': (_request, response) => {
    response.writeHead(401).end()
  },
  '429 for an hour': (_request, response) => {
    response.writeHead(429, { 'retry-after': '3600' }).end()
  },
  'a page larger than allowed': (_request, response) =>
    json(response, pageOf([{ ...one, x: 'x'.repeat(20_000) }])),
}

for (const [name, fault] of Object.entries(faults)) {
  test(`${name} leaves the catalogue as it was`, async (t) => {
    const { url } = await remoteRegistry(t, (request, response, times) => {
      if (times === 1) json(response, pageOf([one]))
      else fault(request, response)
    })
    const app = await mirror(
      t,
      url,
      { wholeEvery: 0, maxPageBytes: 10_000, timeout: '300ms' },
      { syncTimeout: '1500ms' },
    )
    const answer = await app.inject(sync)
    assert.equal(answer.statusCode, 502)
    assert.equal(answer.headers['retry-after'], name.startsWith('429') ? '3600' : undefined)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
  })
}

test('T16 endless pages are read up to a limit, and the catalogue stays as it was', async (t) => {
  const { url, requests } = await remoteRegistry(t, (_request, response, times) => {
    if (times === 1) json(response, pageOf([one]))
    else json(response, pageOf([{ ...two, x: 'x'.repeat(9_000) }], `page ${times}`))
  })
  const app = await mirror(t, url, { wholeEvery: 0, maxBytes: 50_000 })
  const answer = await app.inject(sync)
  assert.equal(answer.statusCode, 502)
  assert.match(answer.json().error_description, /more than 50000 bytes/)
  assert.equal(requests.length, 7)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('429 with Retry-After and 503 between pages are retried, and no page is lost', async (t) => {
  let limited = 0
  const { url } = await remoteRegistry(t, (request, response, times) => {
    if (times === 2) {
      limited = performance.now()
      response.writeHead(429, { 'retry-after': '1' }).end()
    } else if (times === 3) {
      assert.ok(performance.now() - limited >= 990)
      response.writeHead(503).end()
    } else json(response, request.url?.includes('cursor') ? pageOf([two]) : pageOf([one], 'next'))
  })
  const app = await mirror(t, url)
  // The start waits two seconds for a source; this one takes about as long.
  const answer = await app.inject(sync)
  assert.equal(answer.json().versions, 2)
})

test('a URL that must not be requested is an error at the start', async (t) => {
  const wrong = [
    'http://registry.example.com',
    'https://user:pass@registry.example.com',
    'ftp://x',
    'https://x/?a=b',
  ]
  for (const url of wrong) {
    await assert.rejects(mirror(t, url), (error: Error) => {
      assert.doesNotMatch(error.message, /pass@/)
      return /url/.test(error.message)
    })
  }
})

test('an interval of less than a second is refused at the start', async (t) => {
  for (const every of [0, '0', '999ms', 'often']) {
    await assert.rejects(mirror(t, 'http://127.0.0.1:1', { every }), /every/)
  }
})

test('T2: a literal private address is refused at the start unless it is allowed', async (t) => {
  const { url, requests } = await remoteRegistry(t, (_request, response) => json(response, pageOf([one])))
  await assert.rejects(mirror(t, url, { allowPrivateIP: false }), /allowPrivateIP: is needed/)
  assert.equal(requests.length, 0)
})

const LIST = '[{"name":"com.example/one","description":"One.","version":"1.0.0"}]'

contractSuite('source/http', async (t) => {
  const url = await listening(t, (_request, response) =>
    response.end(`{"servers":[{"server":${LIST.slice(1, -1)}}],"metadata":{"count":1}}`),
  )
  return { list: [{ use: 'source/http', with: { name: 'other', url, allowPrivateIP: true } }] }
})
