import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { noHaproxy, startHaproxy } from '#kit/haproxy.js'
import { closedPort } from '#kit/listening.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { keysIn, pagesOf, readers } from './reading.js'
import { lockHolders, migrate, TIMEOUT } from './replicas.js'
import { startRegistries } from './stage.js'
import { changingRegistry } from './upstream.js'

test('three registries restart in turn under load while their source changes: no read fails, and all serve the same documents', {
  skip: noPostgres ?? noHaproxy,
}, async (t) => {
  const database = await new PostgresCluster().database()
  await migrate(t, database.url)
  const upstream = await changingRegistry(t)
  const url = await closedPort()
  const registries = await startRegistries(t, database, upstream.url, url)
  // Only one of them has read the source.
  assert.equal(upstream.asked(), Math.ceil(upstream.keys().length / 100))
  const balancer = await startHaproxy(t, url, registries)
  const is = (state: RegExp, name: string) =>
    eventually(async () => state.test((await balancer.status(name)) ?? ''), TIMEOUT)
  for (const { name } of registries) await is(/^UP/, name)

  const reads = readers(url, 4)
  t.after(() => reads.stop())
  for (const replica of registries) {
    upstream.change(() => 0)
    assert.equal(await replica.end('SIGTERM'), 0)
    replica.start()
    await replica.ready()
    await is(/^UP/, replica.name)
  }
  await reads.stop()
  assert.deepEqual(reads.failures, [])

  const [leader] = await eventually(async () => {
    const holders = await lockHolders(database)
    return holders.length > 0 && holders
  }, TIMEOUT)
  const first = registries.find(({ name }) => name === leader) ?? assert.fail(leader)
  await eventually(async () => (await first.sync()) === 200, TIMEOUT)
  const served = await eventually(async () => {
    const found = await Promise.all(registries.map(({ main }) => pagesOf(main)))
    return new Set(found.map((pages) => JSON.stringify(pages))).size === 1 && found
  }, TIMEOUT)
  assert.deepEqual(keysIn(served[0] ?? []).toSorted(), upstream.keys().toSorted())
})
