import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type FetchResult, type SyncContext, UpstreamError } from 'sallyport'
import { boot } from 'sallyport/embed'
import { booted, serving } from 'sallyport/testing'
import { contextFor } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen } from '#kit/plugin.js'
import { SharedStore } from '#kit/shared-store.js'
import {
  BASE,
  idsIn,
  internalRoutes,
  one,
  payload,
  registryOf,
  server,
  sourcePlugin,
  sync,
  two,
  wrapped,
} from './registry.js'

type App = Awaited<ReturnType<typeof booted>>

const AWAY = new UpstreamError('DATABASE_UNAVAILABLE', 'the database cannot be used', {
  statusCode: 503,
  retryAfter: 5,
})

/** A source that replicas read, and a store that they share. */
class Setup {
  readonly store = new SharedStore()
  /** What the source gives. */
  fetch: (context: SyncContext) => Promise<FetchResult> = async () => this.whole(one)
  /** The bookmarks with which each replica read the source. */
  readonly bookmarks: (readonly [replica: string, bookmark: string | undefined])[] = []

  constructor(readonly t: TestContext) {}

  /** The list of a replica. The same plugin is the same process. */
  list(name: string, store = this.store.plugin(), options: object = {}) {
    const source = sourcePlugin('main', (context) => {
      this.bookmarks.push([name, context.bookmark])
      return this.fetch(context)
    })
    return [
      { use: store },
      ...registryOf([source], ['main'], { stateDirectory: undefined, ...options }),
      internalRoutes,
    ]
  }

  replica(name: string, store = this.store.plugin(), options: object = {}): Promise<App> {
    return booted(this.t, this.list(name, store, options))
  }

  /** One that can be stopped. */
  async mortal(name: string, store = this.store.plugin()) {
    const instance = await boot(this.list(name, store), contextFor({}))
    this.t.after(() => instance.stop())
    await instance.ready({})
    return { app: instance.app, stop: () => instance.stop() }
  }

  whole(...documents: unknown[]): FetchResult {
    const bookmark = JSON.stringify(documents)
    return { kind: 'whole', payloads: [payload(documents)], bookmark: () => bookmark }
  }

  gives(...documents: unknown[]): void {
    this.fetch = async () => this.whole(...documents)
  }
}

async function servedBy(app: App) {
  const answers = await Promise.all(
    ['?include_deleted=true', '/a.example%2Fone/versions'].map((path) => app.inject(BASE + path)),
  )
  return answers.map(({ statusCode, body, headers }) => ({ statusCode, body, etag: headers.etag }))
}

const ids = async (app: App): Promise<string> => {
  const answer = await app.inject(BASE)
  return answer.statusCode === 200 ? idsIn(answer.json()).join() : ''
}
const serves = (app: App, wanted: string) => eventually(async () => (await ids(app)) === wanted)
const reason = async (app: App): Promise<unknown> =>
  (await app.inject('/internal/readiness')).json().checks?.['source main']?.reason

test('one replica reads the source, and all serve the same bytes under the same tags', async (t) => {
  const setup = new Setup(t)
  setup.gives(one, two, wrapped(server('a.example/one', 'old'), { status: 'deleted' }))
  const leader = await setup.replica('first')
  const follower = await setup.replica('second')
  const before = await servedBy(leader)
  assert.deepEqual(await servedBy(follower), before)
  assert.deepEqual(setup.bookmarks, [['first', undefined]])

  setup.gives({ ...one, title: 'One' }, server('a.example/three', '1.0.0'))
  setup.store.reads.length = 0
  assert.equal((await leader.inject(sync)).json().outcome, 'changed')
  await serves(follower, 'a.example/one@1.0.0,a.example/three@1.0.0')
  const after = await servedBy(leader)
  assert.deepEqual(await servedBy(follower), after)
  assert.notDeepEqual(after, before)
  assert.ok(!setup.store.reads.includes(undefined), 'only what changed is read')
})

test('a document that is as large as it may be is served by all, also from a copy', async (t) => {
  const setup = new Setup(t)
  const deep = JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`)
  const largest = server('a.example/one', '1.0.0', { x: '' })
  const x = 'x'.repeat(256 * 1024 - JSON.stringify(largest).length)
  setup.gives(
    { ...largest, x },
    server('a.example/one', '1.1.0', { x: deep }),
    server('a.example/one', '1.2.0', { x: Array(9_995).fill(1) }),
  )
  const own = setup.store.plugin()
  const leader = await setup.replica('first')
  await serves(leader, ['1.2.0', '1.1.0', '1.0.0'].map((version) => `a.example/one@${version}`).join())
  const follower = await setup.replica('second', own)
  setup.store.unreachable = 'the database does not answer'
  for (const app of [follower, await setup.replica('third', own)])
    assert.deepEqual(await servedBy(app), await servedBy(leader))
})

test('a date is that of the first write, and of each change, whichever process leads then', async (t) => {
  const setup = new Setup(t)
  const since = Date.now()
  const datesOf = async (app: App, path = '/a.example%2Fone/versions/1.0.0') => {
    const official = Object.values((await app.inject(BASE + path)).json()._meta)[0] as Record<string, string>
    return [official['publishedAt'] ?? '', official['updatedAt'] ?? '']
  }
  setup.gives(one, two)
  const first = await setup.mortal('first')
  const second = await setup.replica('second')
  const [published = '', updated] = await datesOf(first.app)
  assert.equal(updated, published)
  assert.ok(Date.parse(published) >= since && Date.parse(published) <= Date.now())

  await eventually(() => Date.now() > Date.parse(published))
  await first.stop()
  await eventually(() => setup.bookmarks.length === 2)
  setup.gives({ ...one, title: 'One' }, two)
  await second.inject(sync)
  const [same, changed = ''] = await datesOf(second)
  assert.equal(same, published)
  assert.ok(Date.parse(changed) > Date.parse(published))
  assert.deepEqual(await datesOf(second, '/a.example%2Ftwo/versions/1.0.0'), [published, published])
})

test('a new leader goes on from the bookmark that is stored, and refused documents are read again', async (t) => {
  const setup = new Setup(t)
  const first = await setup.mortal('first')
  const second = await setup.mortal('second')
  await first.stop()
  await eventually(() => setup.bookmarks.length === 2)
  assert.deepEqual(setup.bookmarks[1], ['second', JSON.stringify([one])])

  setup.gives(one, { name: 'a.example/broken' })
  await second.app.inject(sync)
  const third = await setup.replica('third')
  await second.stop()
  await eventually(() => setup.bookmarks.at(-1)?.[0] === 'third')
  assert.deepEqual(setup.bookmarks.at(-1), ['third', undefined])
  assert.match(String(await eventually(() => reason(third))), /refused; a\.example\/broken/)
})

test('a former leader stops reading, and nothing that it read is stored or served', async (t) => {
  const setup = new Setup(t)
  const first = await setup.replica('first')
  const second = await setup.replica('second')
  let aborted: AbortSignal | undefined
  setup.fetch = ({ signal }) => {
    aborted = signal
    return new Promise(() => {})
  }
  const answer = first.inject(sync)
  await eventually(() => aborted)
  setup.gives(one, two)
  setup.store.changeLeader()
  assert.equal((await answer).statusCode, 502)
  assert.equal(aborted?.aborted, true)
  await serves(second, 'a.example/one@1.0.0,a.example/two@1.0.0')
  await serves(first, 'a.example/one@1.0.0,a.example/two@1.0.0')
  assert.equal(await reason(first), undefined)
  assert.equal((await first.inject(sync)).statusCode, 202)
  setup.store.changeLeader()
  await eventually(async () => (await first.inject(sync)).statusCode === 200)
})

test('contents that cannot be stored are not served until they can be', async (t) => {
  const setup = new Setup(t)
  const leader = await setup.replica('first')
  const follower = await setup.replica('second')
  const before = await servedBy(leader)
  setup.fetch = async () => {
    setup.store.unreachable = 'the database does not answer'
    return setup.whole(one, two)
  }
  const failed = await leader.inject(sync)
  assert.equal(failed.statusCode, 502)
  assert.match(failed.json().error_description, /the database does not answer/)
  assert.deepEqual(await servedBy(leader), before)
  assert.match(String(await reason(leader)), /last sync failed: the database does not answer/)

  setup.store.unreachable = undefined
  setup.gives(one, two)
  // By itself, a second later.
  await serves(leader, 'a.example/one@1.0.0,a.example/two@1.0.0')
  await serves(follower, 'a.example/one@1.0.0,a.example/two@1.0.0')
  assert.equal(await reason(leader), undefined)
})

test('while the store is silent a request for a sync ends with the timeout of the store', async (t) => {
  const setup = new Setup(t)
  const silent: SharedStore['open'] = (...given) => {
    const store = SharedStore.prototype.open.apply(setup.store, given)
    assert.ok(store.shared)
    const shared = { ...store.shared, report: () => new Promise<never>(() => {}) }
    const read: typeof store.read = (...since) =>
      setup.store.unreachable === undefined ? store.read(...since) : Promise.reject(AWAY)
    return { ...store, read, shared }
  }
  setup.store.open = silent
  const leader = await setup.replica('first')
  setup.store.unreachable = 'it is silent'
  const answer = await leader.inject(sync)
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['retry-after'], '5')
  assert.match(answer.json().error_description, /the database cannot be used/)
})

test('a process that gets the lead after it has lost it again reads nothing', async (t) => {
  const setup = new Setup(t)
  let began: (signal: AbortSignal) => void = () => {}
  const { open } = setup.store
  setup.store.open = (...given) => {
    const store = open.apply(setup.store, given)
    assert.ok(store.shared)
    const lead: typeof store.shared.lead = (work) => {
      began = work
      return store.shared?.lead(() => {}) ?? (async () => {})
    }
    return { ...store, shared: { ...store.shared, lead } }
  }
  const other = setup.mortal('first')
  await eventually(() => began.length === 1)
  began(AbortSignal.abort(new Error('it was lost')))
  const { app } = await other
  assert.equal((await app.inject(sync)).statusCode, 202)
  assert.deepEqual(setup.bookmarks, [])
})

test('a former leader is healthy again when the next leader refuses nothing', async (t) => {
  const setup = new Setup(t)
  setup.gives(one, { name: 'a.example/broken' })
  const first = await setup.replica('first')
  const second = await setup.replica('second')
  assert.match(String(await reason(first)), /1 document was refused/)
  setup.gives(one, two)
  setup.store.changeLeader()
  for (const app of [first, second]) {
    await serves(app, 'a.example/one@1.0.0,a.example/two@1.0.0')
    await eventually(async () => (await reason(app)) === undefined)
  }
})

test('a process that led while the store was away is healthy again under the next leader, with an unchanged source', async (t) => {
  const setup = new Setup(t)
  const first = await setup.replica('first')
  const second = await setup.replica('second')
  await serves(second, 'a.example/one@1.0.0')
  setup.store.unreachable = 'the database does not answer'
  await first.inject(sync)
  assert.match(String(await reason(first)), /last sync failed: the database does not answer/)

  setup.store.unreachable = undefined
  setup.store.changeLeader()
  await eventually(() => setup.bookmarks.some(([name]) => name === 'second'))
  assert.deepEqual([await reason(first), await reason(second)], [undefined, undefined])

  setup.fetch = () => Promise.reject(new Error('the source is away'))
  await second.inject(sync)
  const AWAY_SOURCE = /last sync failed: the source is away/
  await eventually(async () => AWAY_SOURCE.test(String(await reason(first))))
  setup.store.changeLeader()
  assert.match(String(await reason(second)), AWAY_SOURCE, 'a failure that all read is kept')
})

test('a replica reports a stored document that it refuses, and removes it once it leads', async (t) => {
  for (const texts of [[one], []]) {
    const setup = new Setup(t)
    const large = server('a.example/large', '1.0.0', { x: 'x'.repeat(20_000) })
    setup.gives(...texts, large)
    const first = await setup.replica('first')
    const second = await setup.replica('second', undefined, { maxDocumentBytes: 10_000 })
    assert.match(String(await eventually(() => reason(second))), /1 document was refused; .*larger than/)
    assert.equal(await reason(first), undefined)

    // Nor does it stay when the source has it no more.
    setup.gives({ ...one, title: 'One' })
    setup.store.changeLeader()
    for (const app of [second, first]) {
      await serves(app, 'a.example/one@1.0.0')
      await eventually(async () => (await reason(app)) === undefined)
    }
    assert.deepEqual(setup.bookmarks.at(-1), ['second', undefined])
    const third = await setup.replica('third')
    assert.deepEqual(await servedBy(third), await servedBy(second))
    assert.deepEqual(await servedBy(first), await servedBy(second))
  }
})

test('a replica that refused a stored document is healthy again when the leader has removed the document', async (t) => {
  const setup = new Setup(t)
  setup.gives(one, server('a.example/large', '1.0.0', { x: 'x'.repeat(20_000) }))
  const first = await setup.replica('first')
  const second = await setup.replica('second', undefined, { maxDocumentBytes: 10_000 })
  assert.match(String(await reason(second)), /refused/)
  setup.gives(one, two)
  await first.inject(sync)
  await serves(second, 'a.example/one@1.0.0,a.example/two@1.0.0')
  await eventually(async () => (await reason(second)) === undefined)
})

test('a write whose response was lost leaves nothing behind', async (t) => {
  const setup = new Setup(t)
  const leader = await setup.replica('first')
  const follower = await setup.replica('second')
  setup.gives(one, two)
  setup.store.losesAnswer = true
  assert.equal((await leader.inject(sync)).statusCode, 502)
  setup.gives(one)
  await leader.inject(sync)
  const late = await setup.replica('third')
  for (const app of [leader, follower, late]) {
    await serves(app, 'a.example/one@1.0.0')
    assert.deepEqual(await servedBy(app), await servedBy(leader))
  }
})

test('followers say why the source cannot be read, and when it can be again', async (t) => {
  const setup = new Setup(t)
  const leader = await setup.replica('first')
  const follower = await setup.replica('second')
  setup.fetch = () => Promise.reject(new Error('the source is down'))
  await leader.inject(sync)
  await eventually(async () => (await reason(follower)) === 'last sync failed: the source is down')
  setup.fetch = async () => ({ kind: 'unchanged' })
  await leader.inject(sync)
  await eventually(async () => (await reason(follower)) === undefined)
})

test('a request for a sync at a follower reaches the leader', async (t) => {
  const setup = new Setup(t)
  await setup.replica('first')
  const follower = await setup.replica('second')
  setup.gives(one, two)
  const answer = await follower.inject(sync)
  assert.equal(answer.statusCode, 202)
  assert.deepEqual(answer.json(), { source: 'main', outcome: 'requested' })
  await serves(follower, 'a.example/one@1.0.0,a.example/two@1.0.0')
  assert.ok(setup.bookmarks.every(([name]) => name === 'first'))
  assert.equal((await follower.inject({ ...sync, headers: { origin: 'http://x' } })).statusCode, 403)
})

test('while the store is away a start serves the copy of its process, and reads no source', async (t) => {
  const setup = new Setup(t)
  const own = setup.store.plugin()
  const first = await setup.mortal('first', own)
  const before = await servedBy(first.app)
  await first.stop()
  setup.store.unreachable = 'the database does not answer'
  setup.bookmarks.length = 0
  setup.store.changeLeader()

  const withCopy = await setup.replica('second', own)
  assert.deepEqual(await servedBy(withCopy), before)
  const without = await setup.mortal('third')
  assert.equal((await without.app.inject(BASE)).statusCode, 503)
  assert.match(String(await reason(without.app)), /does not answer/)
  assert.ok(
    setup.bookmarks.every(([name]) => name === 'second'),
    'only the leader tries to',
  )

  setup.store.unreachable = undefined
  await serves(without.app, 'a.example/one@1.0.0')
  assert.deepEqual(await servedBy(without.app), before)
})

test('a reload serves on, and its replica leads again', async (t) => {
  const setup = new Setup(t)
  const own = setup.store.plugin()
  const running = await serving(t, [listen, ...setup.list('first', own)])
  const ask = async () => {
    const answer = await fetch(running.addresses.main + BASE)
    return [answer.status, answer.headers.get('etag'), await answer.text()]
  }
  const before = await ask()
  setup.fetch = () => new Promise(() => {})
  await running.swap([listen, ...setup.list('second', own)], contextFor({}))
  assert.deepEqual(await ask(), before)
  await eventually(() => setup.bookmarks.at(-1)?.[0] === 'second')
})
