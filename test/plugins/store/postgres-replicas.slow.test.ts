import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { closedPort, listening } from '#kit/listening.js'
import { noPostgres, PostgresCluster, type TestDatabase } from '#kit/postgres.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'
import { BASE, server, wrapped } from '../registry/registry.js'

const skip = noPostgres
const cluster = new PostgresCluster()

/** A registry on the network, and what it was asked for. */
async function upstream(t: TestContext) {
  const servers = new Map<string, unknown>()
  const requests: URLSearchParams[] = []
  const put = (name: string, version = '1.0.0'): void => {
    const updatedAt = new Date().toISOString()
    const official = { status: 'active', publishedAt: updatedAt, updatedAt, isLatest: true }
    servers.set(name, wrapped(server(name, version), official))
  }
  const origin = await listening(t, (request, response) => {
    requests.push(new URL(request.url ?? '', 'http://localhost').searchParams)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ servers: [...servers.values()], metadata: { count: servers.size } }))
  })
  return { origin, put, requests }
}

interface Replica {
  readonly process: StartedProgram
  readonly origin: string
  readonly internal: string
}

/** A registry of its own folder and host name. */
async function start(
  t: TestContext,
  database: TestDatabase,
  url: string,
  home = folder(t),
  flags: readonly string[] = [],
): Promise<Replica> {
  const internal = await closedPort()
  const config = folder(t, {
    'registry.yaml': JSON.stringify({
      address: '127.0.0.1:0',
      internalAddress: new URL(internal).host,
      auth: { mode: 'anonymous' },
      sources: [{ name: 'main', http: { url, allowPrivateIP: true, every: '1h' } }],
      store: { postgres: { url: database.url, migrate: true } },
      stateDirectory: join(home, 'copies'),
    }),
  })
  const process = startedProgram(t, ['registry', '--config', join(config, 'registry.yaml'), ...flags], {
    environment: { XDG_STATE_HOME: home },
    hostname: `replica-${new URL(internal).port}`,
    patience: 30,
  })
  return { process, origin: await process.ready(), internal }
}

async function served({ origin }: Replica) {
  const response = await fetch(`${origin}${BASE}?limit=100`)
  return { status: response.status, etag: response.headers.get('etag'), body: await response.text() }
}

/** Until all serve these servers, with the same bytes and tags. */
async function allServe(
  replicas: readonly Replica[],
  names: readonly string[],
  seconds?: number,
): Promise<void> {
  await eventually(async () => {
    const answers = await Promise.all(replicas.map(served))
    return answers.every(
      ({ status, body }) => status === 200 && names.every((name) => body.includes(`"${name}"`)),
    )
  }, seconds)
  const [first, ...others] = await Promise.all(replicas.map(served))
  for (const other of others) assert.deepEqual(other, first)
}

const sync = async ({ internal }: Replica): Promise<number> =>
  (await fetch(`${internal}/sync/main`, { method: 'POST' })).status

/** Asks all the time. What it returns stops, and tells how many were asked, how many failed, and the longest wait. */
function reading(replicas: readonly Replica[]) {
  const result = { asked: 0, failed: 0, longest: 0 }
  let isOver = false
  const loop = async (replica: Replica): Promise<void> => {
    while (!isOver) {
      const since = performance.now()
      const answer = await served(replica).catch(() => undefined)
      result.asked++
      if (answer?.status !== 200) result.failed++
      result.longest = Math.max(result.longest, performance.now() - since)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const loops = replicas.map(loop)
  return async () => {
    isOver = true
    await Promise.all(loops)
    return result
  }
}

const connections = async (database: TestDatabase, where = 'true'): Promise<number> => {
  const text = `select from pg_stat_activity where datname = $1 and usename = $1 and ${where}`
  return (await database.query(text, [database.name])).length
}

test('three replicas serve the same, one reads the source, and faults cost no read', { skip }, async (t) => {
  const database = await cluster.database()
  const source = await upstream(t)
  source.put('a.example/one')
  const homes = [folder(t), folder(t), folder(t)]
  const replicas = await Promise.all(homes.map((home) => start(t, database, source.origin, home)))
  await allServe(replicas, ['a.example/one'])
  assert.equal(source.requests.length, 1, 'one of them reads the source')

  await t.test('a sync at any of them is on all within two seconds', async (t) => {
    for (const [index, replica] of replicas.entries()) {
      source.put(`a.example/two-${index}`)
      const since = performance.now()
      assert.ok([200, 202].includes(await sync(replica)))
      await allServe(replicas, [`a.example/two-${index}`])
      t.diagnostic(`on all after ${(performance.now() - since).toFixed(0)} ms`)
    }
    assert.ok(source.requests.slice(1).every((query) => query.has('updated_since')))
  })

  await t.test('a database that stops, or stands still, costs no read', async (t) => {
    for (const fault of ['stop', 'pause'] as const) {
      const stop = reading(replicas)
      await cluster[fault]()
      await new Promise((resolve) => setTimeout(resolve, 4_000))
      if (fault === 'pause') cluster.resume()
      else await cluster.start()
      source.put(`a.example/after-${fault}`)
      const since = performance.now()
      await eventually(async () => {
        await Promise.all(replicas.map((replica) => sync(replica).catch(() => 0)))
        const answers = await Promise.all(replicas.map(served))
        return answers.every(({ body }) => body.includes(`a.example/after-${fault}`))
      }, 30)
      const { asked, failed, longest } = await stop()
      t.diagnostic(
        `${fault}: ${asked} reads, ${failed} failed, longest ${longest.toFixed(0)} ms; back after ${(performance.now() - since).toFixed(0)} ms`,
      )
      assert.equal(failed, 0)
    }
  })

  await t.test('when the leader is killed another goes on from its bookmark', async (t) => {
    const isLeader = await Promise.all(replicas.map(async (replica) => (await sync(replica)) === 200))
    const leader = replicas[isLeader.indexOf(true)]
    assert.ok(leader)
    const others = replicas.filter((replica) => replica !== leader)
    const before = source.requests.length
    const stop = reading(others)
    leader.process.process.kill('SIGKILL')
    await leader.process.ended()
    source.put('a.example/after-kill')
    const since = performance.now()
    await allServe(others, ['a.example/after-kill'], 15)
    t.diagnostic(`another led and read after ${(performance.now() - since).toFixed(0)} ms`)
    assert.ok(source.requests.length > before)
    assert.ok(source.requests.slice(before).every((query) => query.has('updated_since')))
    assert.equal((await stop()).failed, 0)

    const home = homes[replicas.indexOf(leader)]
    await cluster.stop()
    const restarted = await start(t, database, source.origin, home)
    await eventually(async () => (await served(restarted)).status === 200)
    assert.ok((await served(restarted)).body.includes('a.example/after-pause'))
    await cluster.start()
    await allServe([...others, restarted], ['a.example/after-kill'], 15)

    for (let at = 0; at < 3; at++) {
      restarted.process.reload()
      await restarted.process.until(new RegExp(`(is in force[\\s\\S]*){${at + 1}}`))
    }
    // For locks and for notifications; those of the pool come and go, and have ended a transaction last.
    const ofSessions = "query !~ '^(commit|rollback)'"
    assert.ok((await connections(database, ofSessions)) <= 2 * 3, 'a reload keeps its connections')
    for (const { process } of [...others, restarted]) process.stop()
    for (const { process } of [...others, restarted])
      assert.equal(await process.ended(), 0, process.output.stderr)
    assert.equal(await connections(database), 0)
  })
})

test('worker processes share one store, and leave no connection behind', { skip }, async (t) => {
  const database = await cluster.database()
  const source = await upstream(t)
  source.put('a.example/one')
  const replica = await start(t, database, source.origin, folder(t), ['--workers', '2'])
  await allServe([replica, replica, replica], ['a.example/one'], 20)
  assert.equal(source.requests.length, 1, 'one of them reads the source')
  replica.process.stop()
  assert.equal(await replica.process.ended(), 0, replica.process.output.stderr)
  assert.equal(await connections(database), 0)
})
