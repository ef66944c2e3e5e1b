import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { runs } from '#kit/runs.js'
import {
  BASE,
  internalRoutes,
  type ListBody,
  payload,
  registryOf,
  server,
  sourcePlugin,
  sync,
  wrapped,
} from '../registry/registry.js'

const LIST = '/registry/default'

/** A registry with pages, and a function that replaces its documents and requests every page. */
async function registryPages(t: Parameters<typeof booted>[0]) {
  let documents: readonly unknown[] = []
  const source = sourcePlugin('main', async () => ({ kind: 'whole', payloads: [payload(documents)] }))
  const list = [...registryOf([source], ['main']), { use: 'pages/browse', with: { anonymous: true } }]
  const app = await booted(t, [...list, internalRoutes])
  return async (...randomDocument: readonly unknown[]) => {
    documents = randomDocument
    assert.equal((await app.inject(sync)).statusCode, 200)
    const { statusCode, body } = await app.inject(LIST)
    assert.equal(statusCode, 200, body)
    const api = await app.inject(BASE)
    assert.equal(api.statusCode, 200)
    const { servers } = api.json() as ListBody
    for (const { server: held } of servers) {
      const name = encodeURIComponent(held.name)
      const version = encodeURIComponent(held.version.toWellFormed())
      for (const url of [
        `${LIST}/servers/${name}`,
        `${LIST}/servers/${name}/${version}`,
        `${BASE}/${name}/versions`,
        `${BASE}/${name}/versions/${version}`,
        `${BASE}/${name}/versions/latest`,
      ]) {
        const answer = await app.inject(url)
        assert.ok(answer.statusCode < 500, `${url}: ${answer.body}`)
      }
    }
    return { list: body, count: servers.length, app }
  }
}

const stdio = { registryType: 'npm', identifier: 'x', transport: { type: 'stdio' } }

test('a field of another type breaks no page, and the list shows name and version', async (t) => {
  const show = await registryPages(t)
  const odd = {
    'a.example/type': { packages: [{ ...stdio, environmentVariables: [{ name: 'A', type: 1 }] }] },
    'a.example/hint': { packages: [{ ...stdio, environmentVariables: [{ name: 'A', valueHint: {} }] }] },
    'a.example/constructor': { packages: [{ ...stdio, registryType: 'constructor' }] },
    'a.example/proto': { packages: [{ ...stdio, registryType: '__proto__' }] },
    'a.example/__proto__': { packages: [{ ...stdio, environmentVariables: [{ name: '__proto__' }] }] },
    'a.example/string': { packages: [{ ...stdio, registryType: 'toString' }] },
  }
  const documents = Object.entries(odd).map(([name, more]) => server(name, '1.2.3', more))
  const { list, count, app } = await show(...documents)
  assert.equal(count, documents.length)
  for (const name of Object.keys(odd)) {
    assert.ok(list.includes(`${name} · 1.2.3`), name)
    const own = await app.inject(`${LIST}/servers/${encodeURIComponent(name)}`)
    assert.equal(own.statusCode, 200)
    assert.ok(own.body.includes(`${name} · 1.2.3`))
  }
})

const special = fc.constantFrom(
  ...[
    '__proto__',
    'constructor',
    'toString',
    '\ud800',
    '\u0000',
    'a\u202eb',
    '',
    'latest',
    '..',
    '%',
    '1.0.0',
  ],
)
const anything = fc.oneof(
  special,
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.dictionary(special, special),
)

const argument = { type: 'named', name: '--a', value: 'v', default: 'd', description: 'x', isRequired: true }
const RICH = server('a.example/a', '1.0.0', {
  title: 't',
  websiteUrl: 'https://a.example',
  repository: { url: 'https://a.example', source: 'git' },
  packages: [
    { ...stdio, version: '1', runtimeArguments: [argument], packageArguments: [argument] },
    { ...stdio, registryType: 'oci', environmentVariables: [{ name: 'A', isSecret: true }] },
  ],
  remotes: [{ type: 'sse', url: 'https://a.example', headers: [{ name: 'A', description: 'x' }] }],
})
const FIELDS = ['name', 'type', 'value', 'valueHint', 'description', 'default', 'isSecret', 'url', 'headers']

/** A mutation: a value is replaced, or a field is added. */
const change = fc.record({
  place: fc.nat(),
  field: fc.option(fc.constantFrom(...FIELDS, '__proto__')),
  to: anything,
})

type Parent = Record<string, unknown>

function changed(document: object, changes: readonly { place: number; field: string | null; to: unknown }[]) {
  const copy = structuredClone(document)
  for (const { place, field, to } of changes) {
    const places = placesIn(copy)
    const { parent, key } = places[place % places.length] ?? assert.fail()
    const inner = parent[key]
    const [object, name] =
      field !== null && Object(inner) === inner ? [inner as Parent, field] : [parent, key]
    Object.defineProperty(object, name, { value: to, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

const placesIn = (value: object): { parent: Parent; key: string }[] =>
  Object.entries(value).flatMap(([key, inner]) => [
    { parent: value as Parent, key },
    ...(Object(inner) === inner ? placesIn(inner) : []),
  ])

const randomDocument = fc
  .tuple(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([changes, isWrapped]) =>
    isWrapped
      ? changed(wrapped(RICH, { status: 'active', updatedAt: '2024-01-01T00:00:00Z' }), changes)
      : changed(RICH, changes),
  )

test('half of a surrogate pair in a version is no error', async (t) => {
  const show = await registryPages(t)
  const { list } = await show(server('a.example/a', '\ud800'))
  assert.match(list, /a\.example\/a · \ufffd/)
})

test('whatever is in a document, neither a page nor the API responds with 500', async (t) => {
  const show = await registryPages(t)
  const sane = server('z.example/sane', '1.0.0')
  await fc.assert(
    fc.asyncProperty(fc.array(randomDocument, { minLength: 1, maxLength: 6 }), async (documents) => {
      const { list } = await show(sane, ...documents)
      assert.ok(list.includes('z.example/sane · 1.0.0'))
    }),
    { numRuns: runs(300) },
  )
})
