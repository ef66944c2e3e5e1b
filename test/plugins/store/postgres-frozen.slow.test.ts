import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { GatewayError } from 'sallyport'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { noPostgres, PostgresCluster } from '#kit/postgres.js'
import { internalRoutes, one, payload, registryOf, sourcePlugin } from '../registry/registry.js'
import { publish, publishing } from './publishing.js'

const skip = noPostgres
const cluster = new PostgresCluster()

const storeIn = (url: string) => ({ use: 'store/postgres', with: { url, migrate: true, directory: null } })

/** A replica that reads its source, which never changes, every 200 ms while it leads. */
async function replica(t: TestContext, url: string) {
  let reads = 0
  const source = sourcePlugin(
    'main',
    async () => {
      reads++
      return { kind: 'whole', payloads: [payload([one])], bookmark: () => 'same' }
    },
    200,
  )
  const list = [
    storeIn(url),
    ...registryOf([source], ['main'], { stateDirectory: undefined }),
    internalRoutes,
  ]
  const app = await booted(t, list)
  return {
    reads: () => reads,
    checks: async (): Promise<unknown> => (await app.inject('/internal/readiness')).json().checks,
  }
}

test('all replicas are healthy within 10 s after a suspended database continues', { skip }, async (t) => {
  const { url } = await cluster.database()
  const all = [await replica(t, url), await replica(t, url), await replica(t, url)]
  const settled = (): Promise<unknown[]> => Promise.all(all.map(({ checks }) => checks()))
  await eventually(async () => (await settled()).every((checks) => checks === undefined), 10)
  // Each of them has led, and may lose the lead.
  for (let turn = 0; turn < 2; turn++) {
    cluster.pause()
    await setTimeout(13_000)
    cluster.resume()
    const since = performance.now()
    const isWell = async () => (await settled()).every((checks) => checks === undefined)
    await eventually(isWell, 10).catch(async () => assert.fail(JSON.stringify(await settled())))
    t.diagnostic(
      `well after ${(performance.now() - since).toFixed(0)} ms, read by ${all.map(({ reads }) => reads())}`,
    )
  }
})

test('a write to a suspended database fails within 10 s, however many callers wait', { skip }, async (t) => {
  const { url } = await cluster.database()
  const { publications } = await publishing(t, storeIn(url))
  await publish(publications, 'a.example/one', '1.0.0')
  cluster.pause()
  t.after(() => cluster.resume())
  const took: number[] = []
  const writing = Array.from({ length: 8 }, async (_, at) => {
    await setTimeout(at * 300)
    const since = performance.now()
    await assert.rejects(publish(publications, `a.example/n${at}`, '1.0.0'), GatewayError)
    took.push(performance.now() - since)
  })
  await Promise.all(writing)
  t.diagnostic(`refused after ${took.map((each) => each.toFixed(0)).join(', ')} ms`)
  assert.ok(Math.max(...took) < 9_700, String(took))
})
