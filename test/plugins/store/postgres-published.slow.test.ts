import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { BASE } from '../registry/registry.js'
import { documentsIn } from './catalogue-stores.js'
import { actor, limits, publish, publishing, versionOf } from './publishing.js'

const skip = noPostgres
const cluster = new PostgresCluster()

const storeIn = (url: string, directory: string | null = null) => ({
  use: 'store/postgres',
  with: { url, migrate: true, directory },
})

/** The URL of the database over a link that delays each packet by 5 ms. */
async function distant(t: TestContext, url: string): Promise<string> {
  const { port } = new URL(url)
  const relay = (from: Socket, to: Socket): void => {
    from.on('data', (bytes) => setTimeout(() => to.write(bytes), 5))
    from.on('error', () => {})
    from.on('close', () => to.destroy())
  }
  const link = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
    relay(near, far)
    relay(far, near)
  })
  const { port: own } = await opened(t, link)
  return url.replace(`:${port}/`, `:${own}/`)
}

/** Two gateways that share a database. */
async function replicas(t: TestContext) {
  const { url, query } = await cluster.database()
  const [directory, other] = [folder(t), folder(t)]
  return {
    ...{ url, query, directory },
    first: await publishing(t, storeIn(url, directory)),
    second: await publishing(t, storeIn(url, other)),
  }
}

test('a replica serves a publication of the other within 2 s, with the same bytes and tag', {
  skip,
}, async (t) => {
  const { first, second } = await replicas(t)
  for (const name of ['a.example/one', 'a.example/two']) {
    await publish(first.publications, name, '1.0.0')
    await first.refresh()
    assert.equal(await first.serves(name), true)
    await eventually(() => second.serves(name), 2)
  }
  await second.publications.setStatus({ name: 'a.example/one' }, { status: 'deleted' }, actor)
  await eventually(async () => !(await first.serves('a.example/one')), 2)
  await second.refresh()

  const [one, other] = await Promise.all(
    [first, second].map(({ app }) => app.inject(`${BASE}?include_deleted=true`)),
  )
  assert.equal(one?.body, other?.body)
  assert.equal(one?.headers.etag, other?.headers.etag)
})

test('dates stay the same with another date format of the database', {
  skip,
}, async (t) => {
  const { url, name, query } = await cluster.database()
  await query(`alter role ${name} set datestyle = 'German'`)
  const first = await publishing(t, storeIn(url))
  const { at } = await publish(first.publications, 'a.example/one', '1.0.0')
  const started = await publishing(t, storeIn(url))
  assert.equal(await started.serves('a.example/one'), true)
  const [event] = await started.publications.history('a.example/one', 1)
  assert.equal(event?.at, at)
})

test('one of 200 concurrent publishers at two replicas wins each version', { skip }, async (t) => {
  const { first, second, query } = await replicas(t)
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, index) =>
      publish((index % 2 === 0 ? first : second).publications, `a.example/s${index % 20}`, '1.0.0'),
    ),
  )
  const codes = results.map((each) => (each.status === 'fulfilled' ? 'won' : each.reason.code))
  assert.equal(codes.filter((code) => code === 'won').length, 20)
  assert.equal(codes.filter((code) => code === 'VERSION_EXISTS').length, 180)
  assert.deepEqual(await query('select count(*)::int as count from sallyport.publication'), [{ count: 20 }])
})

test('while the database is away a write is a 503 in time, the registry keeps serving, and a start serves its copy', {
  skip,
}, async (t) => {
  const { url, directory, first } = await replicas(t)
  await publish(first.publications, 'a.example/one', '1.0.0')
  await first.refresh()
  // The copy is written soon, not at once.
  await eventually(() => documentsIn(directory).length > 0)
  await cluster.stop()
  t.after(() => cluster.start())

  const since = performance.now()
  await assert.rejects(publish(first.publications, 'a.example/two', '1.0.0'), { statusCode: 503 })
  assert.ok(performance.now() - since < 10_000)
  assert.equal(await first.serves('a.example/one'), true)

  const started = await publishing(t, storeIn(url, directory))
  await eventually(() => started.serves('a.example/one'))
  await cluster.start()
  await eventually(async () =>
    publish(first.publications, 'a.example/two', '1.0.0').then(
      () => true,
      () => false,
    ),
  )
  await eventually(() => started.serves('a.example/two'), 15)
})

test('a copy that a full disk refused is saved once there is room', {
  skip: skip ?? noDisk ?? false,
}, async (t) => {
  const { url } = await cluster.database()
  const { mountPoint, faults } = smallDisk(t)
  const { publications, refresh, lines } = await publishing(t, storeIn(url, mountPoint))
  await eventually(() => existsSync(join(mountPoint, 'catalogue.sqlite')))
  faults.full.begin()
  await publish(publications, 'a.example/one', '1.0.0')
  await refresh()
  const failed = () => lines.filter(({ msg }) => /no copy of what is published/.test(String(msg)))
  await eventually(() => failed().length > 0)
  faults.full.end()

  await eventually(() => documentsIn(mountPoint).join().includes('a.example/one'), 30)
  assert.equal(failed().length, 1)
})

test('replicas notice a restored backup, and stop serving versions that it lacks', { skip }, async (t) => {
  const { first, query } = await replicas(t)
  await publish(first.publications, 'a.example/one', '1.0.0')
  const [before] = await query('select revision from sallyport.published_source')
  await publish(first.publications, 'a.example/two', '1.0.0')
  await first.refresh()

  await query("delete from sallyport.published_version where convert_from(name, 'UTF8') = 'a.example/two'")
  await query("delete from sallyport.publication where convert_from(name, 'UTF8') = 'a.example/two'")
  await query('update sallyport.published_source set revision = $1', [before?.['revision']])
  await publish(first.publications, 'a.example/three', '1.0.0')
  await first.refresh()

  assert.equal(await first.serves('a.example/two'), false)
  assert.equal(await first.serves('a.example/three'), true)
})

test('the status of 3,000 versions changes at once, also where the database is far away', {
  skip,
}, async (t) => {
  const { url, query } = await cluster.database()
  const { publications, refresh, app } = await publishing(t, storeIn(await distant(t, url)))
  const name = 'a.example/one'
  await publish(publications, name, '1.0.0')
  await query(
    `insert into sallyport.published_version (source, revision, name, version, facts, actor, server)
     select source, revision, name, convert_to('2.0.' || patch, 'UTF8'),
       convert_to(replace(convert_from(facts, 'UTF8'), '1.0.0', '2.0.' || patch), 'UTF8'), actor,
       convert_to(replace(convert_from(server, 'UTF8'), '1.0.0', '2.0.' || patch), 'UTF8')
     from sallyport.published_version, generate_series(1, 2999) patch`,
  )
  await publications.setStatus({ name, version: '2.0.7' }, { status: 'deprecated' }, actor)

  const state = { status: 'deprecated', statusMessage: 'use another' } as const
  const events = await publications.setStatus({ name }, state, actor)
  assert.deepEqual([events.length, events[0]?.versions?.length], [1, 3_000])
  assert.deepEqual(await publications.history(name, 1), events)
  await refresh()
  const own = `${BASE}/${encodeURIComponent(name)}/versions`
  let [cursor, found] = ['', 0]
  do {
    const response = await app.inject(`${own}?cursor=${cursor}`)
    found += response.body.split('"status":"deprecated","statusMessage":"use another"').length - 1
    cursor = response.json().metadata.nextCursor ?? ''
  } while (cursor !== '')
  assert.equal(found, 3_000)
  const [dates] = await query(
    `select count(distinct facts->>'statusChangedAt')::int as changed, count(distinct facts->>'updatedAt')::int as updated
     from (select convert_from(facts, 'UTF8')::json as facts from sallyport.published_version) as version`,
  )
  assert.deepEqual(dates, { changed: 2, updated: 1 })
})

test('a status that changes nothing raises no revision', { skip }, async (t) => {
  const { first, query } = await replicas(t)
  await publish(first.publications, 'a.example/one', '1.0.0')
  const revision = () => query('select revision, changed_at from sallyport.published_source')
  const before = await revision()
  assert.deepEqual(
    await first.publications.setStatus({ name: 'a.example/one' }, { status: 'active' }, actor),
    [],
  )
  await assert.rejects(
    first.publications.publish(versionOf('a.example/one', '2.0.0'), actor, { ...limits, maxVersions: 1 }),
    { code: 'TOO_MANY_VERSIONS' },
  )
  assert.deepEqual(await revision(), before)
})
