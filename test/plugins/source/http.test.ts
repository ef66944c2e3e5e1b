import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '../../kit/folder.js'
import { booted, listening, serving } from '../../kit/index.js'
import {
  BASE,
  fileRegistry,
  idsIn,
  inside,
  type ListBody,
  registryOf,
  server,
  wrapped,
} from '../registry/registry.js'

const sync = { method: 'POST', url: '/internal/sync/far' } as const

function mirror(t: TestContext, url: string, more: object = {}, options: object = {}) {
  const far = { use: 'source/http', with: { name: 'far', url, allowPrivateIP: true, ...more } }
  return booted(t, [...registryOf([far], ['far'], options), { use: inside }])
}

const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))

const pageOf = (servers: unknown[], nextCursor?: string) => ({
  servers,
  metadata: { count: servers.length, nextCursor },
})

const dated = (name: string, updatedAt: string) =>
  wrapped(server(`a.example/${name}`, '1.0.0'), { status: 'active', publishedAt: updatedAt, updatedAt })

const one = dated('one', '2024-01-01T00:00:00Z')
const two = dated('two', '2024-01-02T00:00:00Z')

/** A registry that answers as the test says, and remembers what it was asked. */
async function far(
  t: TestContext,
  act: (request: IncomingMessage, response: ServerResponse, times: number) => void,
) {
  const asked: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    asked.push(request)
    act(request, response, asked.length)
  }
  return { url: await listening(t, listener), asked }
}

test('another registry is mirrored page by page, then by what changed', async (t) => {
  const many = Array.from({ length: 250 }, (_, index) => server(`a.example/s${index}`, '1.0.0', { x: 1 }))
  const upstream = fileRegistry(t, many)
  const { addresses } = await serving(t, [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    ...upstream.list,
  ])
  const app = await mirror(t, `${addresses.main}/registry/default`)
  const all = async (query = '') => (await app.inject(`${BASE}?limit=100${query}`)).json()

  assert.equal((await app.inject(sync)).json().versions, 250)
  const entry = (await all()).servers[0]
  const theirs = (await (await fetch(`${addresses.main}${BASE}?limit=1`)).json()) as ListBody
  assert.deepEqual(entry, theirs.servers[0])

  upstream.write([...many, server('z.example/new', '1.0.0')])
  await fetch(`${addresses.internal}/sync/main`, { method: 'POST' })
  const answer = (await app.inject(sync)).json()
  assert.deepEqual(answer, { source: 'far', outcome: 'changed', versions: 251, refused: 0 })
  assert.deepEqual(idsIn(await all('&search=z.example')), ['z.example/new@1.0.0'])
})

test('after the first time it asks what changed, and a server that went away is deleted', async (t) => {
  const deleted = wrapped(server('a.example/one', '1.0.0'), {
    status: 'deleted',
    publishedAt: '2024-01-01T00:00:00Z',
    updatedAt: '2024-02-01T00:00:00Z',
  })
  const { url, asked } = await far(t, (request, response) => {
    json(response, pageOf(request.url?.includes('updated_since') ? [deleted] : [one, two]))
  })
  const app = await mirror(t, url)
  await app.inject(sync)
  assert.deepEqual(
    asked.map((request) => new URL(request.url ?? '', url).searchParams.get('updated_since')),
    [null, '2024-01-01T23:59:00.000Z'],
  )
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/two@1.0.0'])
})

test('the whole is read again in its own time, and what is not there any more goes', async (t) => {
  const { url, asked } = await far(t, (_request, response, times) => {
    json(response, pageOf(times === 1 ? [one, two] : [two]))
  })
  const app = await mirror(t, url, { wholeEvery: 0 })
  await app.inject(sync)
  assert.ok(asked.every((request) => !request.url?.includes('updated_since')))
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/two@1.0.0'])
})

test('an answer of one page is asked for by its ETag, and 304 means that nothing changed', async (t) => {
  const { url, asked } = await far(t, (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end()
    else json(response, pageOf([one]), { etag: '"v1"' })
  })
  const app = await mirror(t, url, { wholeEvery: 0 })
  assert.equal((await app.inject(sync)).json().outcome, 'unchanged')
  assert.deepEqual(
    asked.map(({ headers }) => headers['if-none-match']),
    [undefined, '"v1"'],
  )
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)
})

test('headers and the token of a file go along', async (t) => {
  const root = folder(t)
  writeFileSync(join(root, 'token'), 'far-token\n', { mode: 0o600 })
  const { url, asked } = await far(t, (_request, response) => json(response, pageOf([one])))
  await mirror(t, url, { headers: { 'X-Api-Key': 'k' }, bearerTokenFile: join(root, 'token') })
  assert.equal(asked[0]?.headers['x-api-key'], 'k')
  assert.equal(asked[0]?.headers.authorization, 'Bearer far-token')
})

const faults: Readonly<Record<string, RequestListener>> = {
  'an empty list': (_request, response) => json(response, pageOf([])),
  'an HTML page': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>all is well</body></html>')
  },
  'another JSON': (_request, response) => json(response, { ok: true }),
  'a truncated body': (_request, response) => {
    response.writeHead(200, { 'content-length': '500' })
    response.write('{"servers":[')
    response.socket?.destroySoon()
  },
  'half of a body that says it is whole': (_request, response) => {
    response.writeHead(200).end('{"servers":[{"server":{"name":"a.example/x"')
  },
  silence: () => {},
  'pages in a circle': (_request, response) => json(response, pageOf([two], 'again')),
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
    const { url } = await far(t, (request, response, times) => {
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

test('T16 pages that never end are taken up to a size, and the catalogue stays as it was', async (t) => {
  const { url, asked } = await far(t, (_request, response, times) => {
    if (times === 1) json(response, pageOf([one]))
    else json(response, pageOf([{ ...two, x: 'x'.repeat(9_000) }], `page ${times}`))
  })
  const app = await mirror(t, url, { wholeEvery: 0, maxBytes: 50_000 })
  const answer = await app.inject(sync)
  assert.equal(answer.statusCode, 502)
  assert.match(answer.json().error_description, /more than 50000 bytes/)
  assert.equal(asked.length, 7)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('429 with Retry-After and 503 in the middle are waited out, and nothing is lost', async (t) => {
  let limited = 0
  const { url } = await far(t, (request, response, times) => {
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

test('a URL that must not be asked stops the start', async (t) => {
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

test('an interval without a pause is refused at the start', async (t) => {
  for (const every of [0, '0', '999ms', 'often']) {
    await assert.rejects(mirror(t, 'http://127.0.0.1:1', { every }), /every/)
  }
})

test('T2: a private address is not asked unless it is allowed', async (t) => {
  const { url, asked } = await far(t, (_request, response) => json(response, pageOf([one])))
  const app = await mirror(t, url, { allowPrivateIP: false })
  assert.equal((await app.inject(BASE)).statusCode, 503)
  assert.equal(asked.length, 0)
})
