import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import type { Database } from '#plugins/store/database/database.js'
import { started } from './opening.js'

const cluster = new PostgresCluster()
const skip = noPostgres ?? false

const notify = (database: Database, topic: string) =>
  database.transaction((statements) => database.notify(statements, topic))

function counting(database: Database, topic: string) {
  const count = { woken: 0, stop: () => {} }
  count.stop = database.listen(topic, () => void count.woken++)
  return count
}

/** Woken again after what is done here. */
async function wakes(count: { woken: number }, work: () => Promise<unknown>): Promise<void> {
  const before = count.woken
  await work()
  await eventually(() => count.woken > before, 20)
}

test('a notification wakes those of its topic, in all processes, once it is committed', {
  skip,
}, async (t) => {
  const { url } = await cluster.database()
  const [a, b] = [await started(t, { url }), await started(t, { url })]
  const [mine, other] = [counting(a.database, 'x'.repeat(200)), counting(a.database, 'other')]
  const theirs = counting(b.database, 'x'.repeat(200))
  for (const count of [mine, other, theirs]) await eventually(() => count.woken > 0)
  const before = other.woken
  await wakes(mine, () => wakes(theirs, () => notify(b.database, 'x'.repeat(200))))
  assert.equal(other.woken, before)
  // Of another topic, and of a transaction that was taken back: neither has arrived when a later one has.
  const last = mine.woken
  const undone = b.database.transaction(async (statements) => {
    await b.database.notify(statements, 'x'.repeat(200))
    throw new Error('mine')
  })
  await assert.rejects(undone, /mine/)
  mine.stop()
  await wakes(other, () => notify(b.database, 'other'))
  assert.equal(mine.woken, last)
})

test('the listener reconnects after every end of its connection, and wakes its callers then', {
  skip,
}, async (t) => {
  const test = await cluster.database()
  const { database, measured } = await started(t, { url: test.url })
  const count = counting(database, 'topic')
  await eventually(() => count.woken > 0)
  await wakes(count, () => cluster.terminateBackends(test))
  await wakes(count, () => notify(database, 'topic'))
  await wakes(count, async () => {
    await cluster.stop()
    await cluster.start()
  })
  // It stands still for longer than a connection may be silent.
  await wakes(count, async () => {
    const lost = () =>
      measured.filter(({ name, labels }) => /lost/.test(name) && /notif/.test(JSON.stringify(labels))).length
    const before = lost()
    cluster.pause()
    await eventually(() => lost() > before, 20)
    cluster.resume()
  })
  await wakes(count, () => notify(database, 'topic'))
})
