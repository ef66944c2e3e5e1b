import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  type AuditEvent,
  AuditSink,
  definePlugin,
  ManagedSource,
  type PublicationState,
  type Publications,
  ServerCatalogue,
  Source,
} from 'sallyport'
import { serving } from 'sallyport/testing'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { listen, providing } from '#kit/plugin.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { document, publishing, publishingList, ROOT } from '../publishing.js'
import { internalRoutes, OFFICIAL, payload, server, sourcePlugin } from '../registry.js'

const NAME = 'com.example/search'

test('exactly one of 200 concurrent writers publishes each version, and the registry serves all versions', async (t) => {
  const { publish, send } = await publishing(t)
  const versions = Array.from({ length: 200 }, (_, index) => `1.0.${index % 20}`)
  const answers = await Promise.all(
    versions.map((version, index) => publish(document(version, { title: `${index}` }))),
  )

  const won = answers.filter(({ statusCode }) => statusCode === 200)
  assert.equal(won.length, 20)
  assert.equal(answers.filter(({ statusCode }) => statusCode === 409).length, 180)
  const { servers } = (await send('GET', '/servers?limit=100')).json()
  const titles = (list: readonly { server: { title: string } }[]) =>
    list.map(({ server }) => server.title).toSorted()
  assert.deepEqual(titles(servers), titles(won.map((each) => each.json())))
})

/** A managed source in memory: `read` runs before each read of it, `written` before a publication is told. */
function memorySource({
  read,
  written = async () => {},
  changed = 1,
}: {
  read: () => void
  written?: () => Promise<void>
  changed?: number
}) {
  const payloads: Buffer[] = []
  const publications: Publications = {
    location: 'test',
    read: async () => ({ kind: 'unchanged', payloads: [], revision: () => '' }),
    watch: () => () => {},
    async publish({ name, version, server }, actor) {
      payloads.push(Buffer.concat([Buffer.from('{"server":'), server, Buffer.from('}')]))
      await written()
      const at = new Date().toISOString()
      return { name, version, actor, at, action: 'publish', after: { status: 'active' } }
    },
    // Of one version nothing is told, as when it has the status already.
    async setStatus({ name, version }, after, actor) {
      if (version !== undefined) return []
      const at = new Date().toISOString()
      const versions = Array.from({ length: changed }, (_, index) => `1.0.${index}`)
      const before: PublicationState = { status: 'active' }
      return versions.map((each) => ({ name, version: each, actor, at, action: 'status', before, after }))
    },
    history: async () => [],
    publisher: async () => undefined,
  }
  return definePlugin({
    name: 'source/memory',
    api: 1,
    provides: [Source, ManagedSource],
    setup(gateway) {
      gateway.provide(ManagedSource, { name: 'published', publications: () => publications })
      gateway.provide(Source, {
        name: 'published',
        location: 'test',
        stored: true,
        fetch: async () => {
          read()
          return { kind: 'whole', payloads: [...payloads] }
        },
      })
    },
  })
}

test('a version that is stored and not served yet is a 503 that says so, and is audited as published', async (t) => {
  let isAway = false
  const source = memorySource({
    read: () => {
      if (isAway) throw new Error('away')
    },
  })
  const { publish, get, events, send } = await publishing(t, { managed: { use: source } })
  assert.equal((await publish(document('1.0.0'))).statusCode, 200)
  isAway = true
  const response = await publish(document('2.0.0'))

  assert.equal(response.statusCode, 503)
  assert.equal(response.json().error, 'stored_not_served')
  assert.ok(response.headers['retry-after'])
  assert.ok(!response.body.includes('away'))
  assert.equal((await get(NAME, '1.0.0')).statusCode, 200)
  assert.deepEqual(
    events
      .filter(({ kind }) => kind !== 'accepted')
      .map(({ kind, status, server }) => [kind, status, server?.version]),
    [
      ['published', 200, '1.0.0'],
      ['published', 503, '2.0.0'],
    ],
  )
  isAway = false
  assert.equal((await publish(document('3.0.0'))).statusCode, 200)
  assert.equal((await send('GET', '/servers')).json().metadata.count, 3)
})

test('a publication is audited when its caller leaves before the response', async (t) => {
  const issuer = await issuing(t)
  const events: AuditEvent[] = []
  const sink = providing('audit/test', AuditSink, (event) => void events.push(event))
  let release = (): void => {}
  let reached = false
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const source = memorySource({
    read: () => {},
    written: () => {
      reached = true
      return held
    },
  })
  const list = publishingList(t, issuer, { managed: { use: source }, further: [sink] })
  const { addresses } = await serving(t, [listen, ...list])
  const { port, hostname } = new URL(addresses.main ?? '')
  const body = JSON.stringify(document())
  const socket = connect(Number(port), hostname)
  const token = await issuer.jwt()
  socket.write(
    `POST ${ROOT}/publish HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await eventually(() => reached)
  socket.destroy()
  await new Promise((resolve) => socket.once('close', resolve))
  release()

  await eventually(() => events.length === 2)
  assert.deepEqual(
    events.map(({ kind, status, subject, outcome, server }) => [
      kind,
      status,
      subject,
      outcome,
      server?.name,
    ]),
    [
      ['accepted', 499, 'somebody', 'failed', undefined],
      ['published', 499, 'somebody', 'allowed', NAME],
    ],
  )
})

test('a catalogue that cannot be refreshed is refused at the start', async (t) => {
  const issuer = await issuing(t)
  const fixed = providing('catalogue/fixed', ServerCatalogue, { names: [], registry: () => undefined })
  const list = publishingList(t, issuer).map((entry) => (entry.use === 'registry/catalogue' ? fixed : entry))
  await assert.rejects(serving(t, list), /cannot be published to/)
})

const cluster = new PostgresCluster()

test('of two replicas exactly one publishes a version, and each serves what it wrote at once', {
  skip: noPostgres,
}, async (t) => {
  const issuer = await issuing(t)
  const { url } = await cluster.database()
  const token = await issuer.jwt()
  const replica = () => {
    const store = { use: 'store/postgres', with: { url, migrate: true, directory: folder(t) } }
    return booted(t, publishingList(t, issuer, { store }))
  }
  const first = await replica()
  const replicas = [first, await replica()]
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const publish = async (index: number) => {
    const app = replicas[index % 2] ?? first
    const version = `1.0.${Math.floor(index / 4)}`
    const payload = JSON.stringify(document(version, { title: `${index}` }))
    const response = await app.inject({ method: 'POST', url: `${ROOT}/publish`, payload, headers })
    if (response.statusCode !== 200) return response
    const read = await app.inject({
      url: `${ROOT}/servers/com.example%2Fsearch/versions/${version}`,
      headers,
    })
    assert.equal(read.statusCode, 200)
    assert.equal(read.json().server.title, `${index}`)
    return response
  }
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => publish(index)))

  const told = answers.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b)
  assert.deepEqual(told, [...Array(10).fill(200), ...Array(30).fill(409)])
  for (const app of replicas) {
    const list = () => app.inject({ url: `${ROOT}/servers?limit=100`, headers })
    await eventually(async () => (await list()).json().metadata.count === 10)
  }
})

test('a status that is stored and not served yet is a 503, and never an answer with the old one', async (t) => {
  const { publish, send } = await publishing(t, { managed: { use: memorySource({ read: () => {} }) } })
  await publish(document())
  const path = '/servers/com.example%2Fsearch/versions/1.0.0'
  const response = await send('DELETE', path)

  assert.equal(response.statusCode, 503)
  assert.equal(response.json().error, 'stored_not_served')
  assert.equal((await send('PATCH', `${path}/status`, { status: 'active' })).statusCode, 200)
  const all = await send('PATCH', '/servers/com.example%2Fsearch/status', { status: 'deleted' })
  assert.deepEqual([all.statusCode, all.json().error], [503, 'stored_not_served'])
})

test('the audit of a change of very many versions has their count, and a thousand of them', async (t) => {
  const source = memorySource({ read: () => {}, changed: 1_001 })
  const { publish, send, events } = await publishing(t, { managed: { use: source } })
  await publish(document())
  await send('PATCH', '/servers/com.example%2Fsearch/status', { status: 'deprecated' })

  const { server } = events.findLast(({ kind }) => kind === 'published') ?? {}
  assert.deepEqual([server?.count, server?.versions?.length], [1_001, 1_000])
})

test('nothing is stored while the registry is not loaded', async (t) => {
  let stored = 0
  const source = memorySource({
    read: () => {
      throw new Error('away')
    },
    written: async () => void stored++,
  })
  const { publish, send } = await publishing(t, { managed: { use: source } })
  const path = '/servers/com.example%2Fsearch/versions/1.0.0/status'
  const answers = [await publish(document()), await send('PATCH', path, { status: 'deprecated' })]

  assert.deepEqual(
    answers.map((answer) => [answer.statusCode, answer.json().error]),
    Array(2).fill([503, 'registry_not_loaded']),
  )
  assert.equal(stored, 0)
})

test('two callers with the same subject at two providers have a rate each', async (t) => {
  const other = await issuing(t)
  const { publish } = await publishing(t, {
    options: { publishRate: '1/1h' },
    further: [{ use: 'auth/oidc', id: 'other', with: { ...other.provider, name: 'other' } }],
  })
  const second = { authorization: `Bearer ${await other.jwt()}` }

  assert.equal((await publish(document('1.0.0'))).statusCode, 200)
  assert.equal((await publish(document('2.0.0'), second)).statusCode, 200)
  assert.equal((await publish(document('3.0.0'))).statusCode, 429)
})

test('a publisher can withdraw a name that an earlier source hides, and publish no more versions of it', async (t) => {
  let isThere = false
  const first = sourcePlugin('first', async () => ({
    kind: 'whole',
    payloads: isThere ? [payload(server(NAME, '9.0.0'))] : [],
  }))
  const { app, publish, send, token } = await publishing(t, {
    sources: [first],
    order: ['first', 'published'],
    further: [internalRoutes],
  })
  await publish(document('1.0.0'))
  await publish(document('2.0.0'))
  isThere = true
  const headers = { authorization: `Bearer ${token}` }
  const synced = await app.inject({ method: 'POST', url: '/internal/sync/first', headers })
  assert.equal(synced.statusCode, 200, synced.body)

  assert.equal((await publish(document('3.0.0'))).json().error, 'name_taken')
  const path = '/servers/com.example%2Fsearch'
  const deleted = await send('DELETE', `${path}/versions/1.0.0`)
  assert.equal(deleted.statusCode, 200, deleted.body)
  assert.equal(deleted.json().server.version, '1.0.0')
  assert.equal(deleted.json()._meta[OFFICIAL].status, 'deleted')
  const all = await send('PATCH', `${path}/status`, { status: 'deleted' })
  assert.equal(all.json().updatedCount, 1, all.body)
  const served = (await send('GET', `${path}/versions?include_deleted=true`)).json().servers
  assert.deepEqual(
    served.map((each: { server: { version: string } }) => each.server.version),
    ['9.0.0'],
  )
})
