import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { type Issuer, issuing } from '#kit/issuer.js'
import { noPostgres, PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import {
  API,
  allServed,
  PLATFORM,
  type PublishingProgram,
  publishable,
  publishingProgram,
  publishTo,
} from './publishing-program.js'

const skip = noPostgres
const cluster = new PostgresCluster()

const replica = (t: TestContext, issuer: Issuer, { url }: TestDatabase, hostname: string) =>
  publishingProgram(t, issuer, { hostname, settings: { store: { postgres: { url, migrate: true } } } })

/** Two registries of one database, of folders and host names of their own. */
async function replicas(t: TestContext) {
  const issuer = await issuing(t)
  const database = await cluster.database()
  const first = await replica(t, issuer, database, 'replica-one')
  const second = await replica(t, issuer, database, 'replica-two')
  return { first, second, token: await issuer.jwt(PLATFORM) }
}

async function statusAt({ origin }: PublishingProgram, token: string, name: string): Promise<number> {
  const url = `${origin}${API}/servers/${encodeURIComponent(name)}/versions/1.0.0`
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  return response.status
}

test('a replica serves its own publication at once, and the other replica within two seconds', {
  skip,
}, async (t) => {
  const { first, second, token } = await replicas(t)
  for (const [index, [at, other]] of [
    [first, second],
    [second, first],
  ].entries()) {
    if (at === undefined || other === undefined) assert.fail('two replicas')
    const name = `com.example/from-${index}`
    const response = await publishTo(at.origin, token, publishable(name, '1.0.0'))
    assert.equal(response.status, 200, await response.text())
    assert.equal(await statusAt(at, token, name), 200)
    const since = performance.now()
    await eventually(async () => (await statusAt(other, token, name)) === 200, 10)
    const took = performance.now() - since
    t.diagnostic(`served by the other after ${Math.round(took)} ms`)
    assert.ok(took < 2_000, `${took} ms`)
  }
})

test('one of 200 writers of one version at two replicas wins, and both replicas serve 200 different versions', {
  skip,
}, async (t) => {
  const { first, second, token } = await replicas(t)
  const origins = [first.origin, second.origin]
  const publishAll = (document: (index: number) => object) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const response = await publishTo(origins[index % 2] ?? '', token, document(index))
        await response.arrayBuffer()
        return response.status
      }),
    )

  const raced = await publishAll(() => publishable('com.example/one', '1.0.0'))
  assert.deepEqual(
    [200, 409].map((status) => raced.filter((each) => each === status).length),
    [1, 199],
  )
  const apart = await publishAll((index) => publishable('com.example/many', `1.0.${index}`))
  assert.deepEqual([...new Set(apart)], [200])

  const served = () => Promise.all(origins.map((origin) => allServed(origin, token)))
  await eventually(async () => (await served()).every((versions) => versions.length === 201), 20)
  const [here, there] = await served()
  assert.deepEqual(here, there)
})
