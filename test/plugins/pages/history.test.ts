import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  ManagedSource,
  type PublicationEvent,
  PublicationStore,
  type Publications,
  ServerCatalogue,
} from 'sallyport'
import { booted } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { plugin, providing } from '#kit/plugin.js'
import { fileRegistry, registryOf, server } from '../registry/registry.js'

const PAGE = '/registry/default/servers/com.example%2Fweather'
const name = 'com.example/weather'
const ann = { provider: 'corp', subject: 'ann' }
const bob = { provider: 'corp', subject: 'bob' }
const limits = { maxVersions: 100 }
const managed = { use: 'source/managed', with: { name: 'published' } }
const pages = { use: 'pages/browse', with: { anonymous: true } }

/** A registry with pages, and the publications and the refresh of what is published in it. */
async function withPages(
  t: TestContext,
  store: object = { use: 'store/sqlite', with: { directory: folder(t) } },
) {
  let publications: (() => Publications) | undefined
  let catalogue: (() => ServerCatalogue) | undefined
  const user = plugin(
    'user',
    (gateway) => {
      const sources = gateway.use(ManagedSource)
      catalogue = gateway.use(ServerCatalogue)
      publications = () => sources()[0]?.publications() as Publications
    },
    { requires: [ServerCatalogue] },
  )
  const list = registryOf([managed], ['published'], { stateDirectory: undefined })
  const app = await booted(t, [store as { use: string }, ...list, pages, user])
  return {
    app,
    publications: () => publications?.() as Publications,
    refresh: async () => catalogue?.().refresh?.('published'),
  }
}

const versionOf = (version: string) => ({
  ...{ name, version },
  server: Buffer.from(JSON.stringify(server(name, version))),
})

test('the page of a server shows who published it, its status with the message, and what happened to it', async (t) => {
  const { app, publications, refresh } = await withPages(t)
  await publications().publish(versionOf('1.0.0'), ann, limits)
  await publications().publish(versionOf('2.0.0'), bob, limits)
  await publications().setStatus(
    { name, version: '1.0.0' },
    { status: 'deprecated', statusMessage: 'take 2.0.0' },
    bob,
  )
  await refresh()

  const newest = (await app.inject(PAGE)).body
  assert.match(
    newest,
    /Published <time datetime="[^"]+">[^<]+<\/time> by <bdi>bob<\/bdi> \(<bdi>corp<\/bdi>\)/,
  )
  assert.match(newest, />1\.0\.0<\/a> <span class="badge">deprecated<\/span>/)
  const events = [...newest.matchAll(/<bdi>([\d.]+)<\/bdi> (published|set to \w+) by <bdi>(\w+)</g)]
  assert.deepEqual(
    events.map(([, ...event]) => event.join(' ')),
    ['1.0.0 set to deprecated bob', '2.0.0 published bob', '1.0.0 published ann'],
  )

  const older = (await app.inject(`${PAGE}/1.0.0`)).body
  assert.match(older, / by <bdi>ann<\/bdi>/)
  assert.match(older, /<p class="hint"><bdi>take 2\.0\.0<\/bdi><\/p>/)
})

test('the page shows the publisher of a version however many events followed', async (t) => {
  const { app, publications, refresh } = await withPages(t)
  await publications().publish(versionOf('1.0.0'), ann, limits)
  for (let change = 0; change < 60; change++)
    await publications().setStatus({ name }, { status: change % 2 === 0 ? 'deprecated' : 'active' }, bob)
  await refresh()
  assert.match((await app.inject(PAGE)).body, /Published <time[^>]+>[^<]+<\/time> by <bdi>ann/)
})

test('a withdrawn version is a 404 that says so, why, and since when; so is a server without any other', async (t) => {
  const { app, publications, refresh } = await withPages(t)
  await publications().publish(versionOf('1.0.0'), ann, limits)
  await publications().publish(versionOf('2.0.0'), ann, limits)
  const gone = { status: 'deleted', statusMessage: 'it leaks' } as const
  await publications().setStatus({ name, version: '2.0.0' }, gone, bob)
  await refresh()

  const left = await app.inject(PAGE)
  assert.equal(left.statusCode, 200)
  assert.match(left.body, /<span class="badge">deleted<\/span>/)
  const withdrawn = await app.inject(`${PAGE}/2.0.0`)
  assert.equal(withdrawn.statusCode, 404)
  assert.match(withdrawn.body, /it leaks/)
  assert.doesNotMatch(withdrawn.body, /<h2>Install/)

  await publications().setStatus({ name }, gone, bob)
  await refresh()
  const nothing = await app.inject(PAGE)
  assert.equal(nothing.statusCode, 404)
  assert.match(nothing.body, /set to deleted by <bdi>bob/)
})

/** A store of what is published whose history is what the test says. */
function storeWith(history: Publications['history']) {
  const published = { server: server(name, '1.0.0'), _meta: {} }
  const publications: Publications = {
    location: 'test',
    read: async () => ({
      kind: 'whole',
      payloads: [Buffer.from(JSON.stringify({ servers: [published] }))],
      revision: () => '1',
    }),
    watch: () => () => {},
    publish: () => assert.fail('nobody publishes here'),
    setStatus: () => assert.fail('nobody publishes here'),
    history,
    publisher: async () => undefined,
  }
  return providing('store', PublicationStore, { open: () => publications })
}

test('a page whose history cannot be read is there all the same, and says so', async (t) => {
  for (const history of [
    () => Promise.reject(new Error('canary: the database is away')),
    () => new Promise<never>(() => {}),
  ]) {
    const { app } = await withPages(t, storeWith(history))
    const { statusCode, body } = await app.inject(PAGE)
    assert.equal(statusCode, 200)
    assert.match(body, /It cannot be read at the moment/)
    assert.doesNotMatch(body, /canary/)
  }
})

test('a change of several versions is one line of the history, and so is a purge', async (t) => {
  const versions = ['2.0.0', '1.0.0'].map((version) => ({ version }))
  const about = { at: '2026-01-01T00:00:00.000Z', name, version: '2.0.0', actor: ann, versions }
  const after = { status: 'deleted' } as const
  const events: readonly PublicationEvent[] = [
    { ...about, action: 'purge', after },
    { ...about, action: 'status', after },
  ]
  const { app } = await withPages(
    t,
    storeWith(async () => events),
  )
  const { body } = await app.inject(PAGE)
  assert.match(body, /2 versions purged by <bdi>ann/)
  assert.match(body, /2 versions set to deleted by <bdi>ann/)
})

test('a page requests no history for a server of an unmanaged source', async (t) => {
  let asked = 0
  const store = storeWith(async () => {
    asked++
    return []
  })
  const { path } = fileRegistry(t, [server('com.example/other', '1.0.0')])
  const file = { use: 'source/file', with: { name: 'file', path, watch: false } }
  const list = registryOf([managed, file], ['published', 'file'], { stateDirectory: undefined })
  const app = await booted(t, [store, ...list, pages])

  const other = await app.inject('/registry/default/servers/com.example%2Fother')
  assert.equal(other.statusCode, 200)
  assert.doesNotMatch(other.body, /History/)
  assert.equal(asked, 0)
  await app.inject(PAGE)
  assert.equal(asked, 1)
})

test('names and messages are never markup', async (t) => {
  let events: readonly PublicationEvent[] = []
  const { app } = await withPages(
    t,
    storeWith(async () => events),
  )
  const at = '2026-01-01T00:00:00.000Z'
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('<script>', '"><img src=x onerror=alert(1)>', '</bdi></li>', '\u202e', '&#x3c;'),
  )
  const status = fc.constantFrom('active', 'deprecated', 'deleted')
  const state = fc.record({ status, statusMessage: piece }, { requiredKeys: ['status'] })
  const event = fc.record({
    at: fc.oneof(piece, fc.constant(at)),
    action: fc.constantFrom('publish', 'status', 'purge'),
    name: fc.constant(name),
    version: fc.oneof(piece, fc.constant('1.0.0')),
    actor: fc.record({ provider: piece, subject: piece }),
    after: state,
  })
  events = [{ at, action: 'publish', name, version: '1.0.0', actor: ann, after: { status: 'active' } }]
  const plain = fixedTags((await app.inject(PAGE)).body)
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 4 }), async (random) => {
      events = random as PublicationEvent[]
      const { statusCode, body } = await app.inject(PAGE)
      assert.equal(statusCode, 200)
      assert.deepEqual(fixedTags(body), plain)
    }),
  )
})

/** The tags of a page, but for those of which a history has more or fewer. */
const fixedTags = (body: string): string[] =>
  (body.match(/<[^>]*>/g) ?? []).filter((tag) => !/^<\/?(?:bdi|li|time|time datetime="[^"<>]*")>$/.test(tag))
