import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { keysIn, pagesOf } from './reading.js'
import { migrate, Replica, TIMEOUT } from './replicas.js'
import { changingRegistry } from './upstream.js'

async function oneRegistry(t: Parameters<typeof changingRegistry>[0], cluster: PostgresCluster) {
  const database = await cluster.database()
  await migrate(t, database.url)
  const upstream = await changingRegistry(t)
  const registry = await Replica.registry(t, 'one', upstream.url)
  registry.useDatabase(database.url)
  registry.start()
  await registry.ready()
  const servedKeys = async () => keysIn(await pagesOf(registry.main)).toSorted()
  return { database, upstream, registry, servedKeys }
}

test('while the disk of the database is full, the registry serves all and acknowledges no write, and recovers afterwards', {
  skip: noPostgres ?? noDisk,
}, async (t) => {
  const disk = smallDisk(t, '192m')
  const cluster = new PostgresCluster({ directory: disk.mountPoint, settings: { max_wal_size: '32MB' } })
  const { upstream, registry, servedKeys } = await oneRegistry(t, cluster)

  disk.faults.full.begin()
  let acknowledged = upstream.keys()
  await eventually(async () => {
    for (let count = 0; count < 500; count++) upstream.change(() => 0)
    const there = upstream.keys()
    const isWritten = (await registry.sync()) === 200
    if (isWritten) acknowledged = there
    return !isWritten
  }, TIMEOUT)
  assert.equal(await registry.readiness(), 200)
  assert.deepEqual(await servedKeys(), acknowledged.toSorted())

  disk.faults.full.end()
  await cluster.stop()
  await cluster.start()
  await eventually(async () => (await registry.sync()) === 200, TIMEOUT)
  assert.deepEqual(await servedKeys(), upstream.keys().toSorted())
})

test('an older process still uses a database that a newer version migrated, and refuses its own migration', {
  skip: noPostgres,
}, async (t) => {
  const cluster = new PostgresCluster()
  const { database, upstream, registry, servedKeys } = await oneRegistry(t, cluster)
  await database.query('alter table sallyport.version add column of_a_newer_version text')
  await database.query('update sallyport.schema_level set level = level + 1, readable_by = level + 1')
  await cluster.terminateBackends(database)

  upstream.change(() => 0)
  await eventually(async () => (await registry.sync()) === 200, TIMEOUT)
  assert.deepEqual(await servedKeys(), upstream.keys().toSorted())
  await assert.rejects(migrate(t, database.url), /ended with 2: .*newer version/)
})
