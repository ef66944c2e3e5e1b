import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { type FetchResult, UpstreamError } from 'sallyport'
import { booted, recordedLog, serving } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { folder } from '#kit/folder.js'
import { documentsIn } from '../store/catalogue-stores.js'
import {
  BASE,
  fileRegistry,
  idsIn,
  internalRoutes,
  one,
  payload,
  type RegistryOptions,
  registryOf,
  server,
  sourcePlugin,
  sync,
  two,
  wrapped,
} from './registry.js'

const whole = (...documents: unknown[]): FetchResult => ({ kind: 'whole', payloads: [payload(documents)] })

/** A list with a source that gives one result after the other, and the last one again and again. */
function scripted(
  answers: readonly (() => FetchResult | Promise<FetchResult>)[],
  options: RegistryOptions = {},
) {
  const left = [...answers]
  const seen: (string | undefined)[] = []
  const source = sourcePlugin('main', async ({ bookmark }) => {
    seen.push(bookmark)
    const answer = left.length > 1 ? left.shift() : left[0]
    if (answer === undefined) throw new Error('the script is empty')
    return answer()
  })
  return { list: [...registryOf([source], ['main'], options), internalRoutes], seen }
}

const failing = (error: Error) => () => Promise.reject(error)

test('a sync that fails changes nothing, is logged once, and the gateway stays ready', async (t) => {
  const { log, lines } = recordedLog()
  const down = failing(new Error('it is down'))
  const app = await booted(t, scripted([() => whole(one), down, down]).list, { log })

  for (let times = 0; times < 2; times++) {
    const answer = await app.inject(sync)
    assert.equal(answer.statusCode, 502)
    assert.equal(answer.json().error, 'sync_failed')
  }
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
  const readiness = await app.inject('/internal/readiness')
  assert.equal(readiness.statusCode, 200)
  assert.deepEqual(readiness.json().checks, {
    'source main': { status: 'degraded', reason: 'last sync failed: it is down' },
  })
  assert.equal(lines.filter(({ msg }) => msg === 'a source could not be read').length, 1)
})

test('an invalid result of a source is an error that says what is wrong, and changes nothing', async (t) => {
  const nonsense: (readonly [answer: unknown, told: RegExp])[] = [
    [undefined, /neither "unchanged" nor payloads/],
    ['[]', /neither "unchanged" nor payloads/],
    [{ kind: 'whole' }, /neither "unchanged" nor payloads/],
    [{ kind: 'all', payloads: [payload([two])] }, /neither "unchanged" nor payloads/],
    [{ kind: 'whole', payloads: [JSON.stringify([two])] }, /Buffer\.from makes them of text/],
  ]
  for (const [answer, told] of nonsense) {
    const app = await booted(t, scripted([() => whole(one), () => answer as FetchResult]).list)
    assert.match((await app.inject(sync)).json().error_description, told)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
  }
})

test('until every source was read once the registry responds 503, and so does readiness', async (t) => {
  const { promise: gate, resolve: open } = deferred()
  const late = sourcePlugin('late', async () => {
    await gate
    return whole(two)
  })
  const entries = [sourcePlugin('quick', async () => whole(one)), late]
  const app = await booted(t, [...registryOf(entries, ['quick', 'late']), internalRoutes])

  const early = await app.inject(BASE)
  assert.equal(early.statusCode, 503)
  assert.equal(early.headers['retry-after'], '5')
  assert.equal((await app.inject('/registry/none/v0.1/servers')).statusCode, 404)
  const readiness = await app.inject('/internal/readiness')
  assert.equal(readiness.statusCode, 503)
  assert.deepEqual(Object.keys(readiness.json().checks), ['source late'])

  open()
  const ready = await eventually(async () => {
    const response = await app.inject(BASE)
    return response.statusCode === 200 ? response : undefined
  })
  assert.deepEqual(idsIn(ready.json()), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
  assert.equal((await app.inject('/internal/readiness')).statusCode, 200)
})

test('the first source that has a name gives all its versions', async (t) => {
  const own = sourcePlugin('own', async () => whole(server('a.example/one', '1.0.0')))
  const far = sourcePlugin('far', async () => whole(server('a.example/one', '9.0.0'), two))
  const app = await booted(t, registryOf([far, own], ['own', 'far']))
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0', 'a.example/two@1.0.0'])
})

test('changes are merged with the contents; a deleted version is only in lists of changes', async (t) => {
  const dates = { publishedAt: '2024-01-01T00:00:00Z', updatedAt: '2024-01-01T00:00:00Z' }
  const gone = { status: 'deleted', publishedAt: dates.publishedAt, updatedAt: '2024-03-01T00:00:00Z' }
  const changes = (...documents: unknown[]): FetchResult => ({
    kind: 'changes',
    payloads: [payload(documents)],
  })
  const { list } = scripted([
    () => whole(wrapped(one, dates), wrapped(two, dates)),
    () => changes(wrapped(two, gone), server('a.example/one', '2.0.0')),
    () => ({ kind: 'unchanged' }),
  ])
  const app = await booted(t, list)

  assert.equal((await app.inject(sync)).json().outcome, 'changed')
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@2.0.0', 'a.example/one@1.0.0'])
  const latest = (await app.inject(`${BASE}?version=latest`)).json()
  assert.deepEqual(idsIn(latest), ['a.example/one@2.0.0'])
  const changed = await app.inject(`${BASE}?updated_since=2024-02-01T00:00:00Z`)
  assert.deepEqual(idsIn(changed.json()), ['a.example/one@2.0.0', 'a.example/two@1.0.0'])
  const before = await app.inject(BASE)
  assert.equal((await app.inject(sync)).json().outcome, 'unchanged')
  assert.equal((await app.inject(BASE)).headers.etag, before.headers.etag)
})

test('a source without a valid document, or that is not JSON, keeps its contents', async (t) => {
  const bytes = (text: string) => (): FetchResult => ({ kind: 'whole', payloads: [Buffer.from(text)] })
  const nonsense = [
    '<html><body>gateway timeout</body></html>',
    '',
    '[{"name":"a.example/x","version":"1.0.0","description":"x"}',
    '[{"name":"a.example/x","version":"1.0.0","description":"x"},]',
    '[] []',
    '{"servers":[',
    '"text"',
    '[{"name":"wrong"}]',
  ]
  const { list } = scripted([() => whole(one), ...nonsense.map(bytes)])
  const app = await booted(t, list)
  for (const text of nonsense) {
    assert.equal((await app.inject(sync)).statusCode, 502, text)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'], text)
  }
})

test('the catalogue does not wait for a source that hangs, and drops its late result', async (t) => {
  let late: (() => void) | undefined
  const hanging = () =>
    new Promise<FetchResult>((resolve) => {
      late = () => resolve(whole(two))
    })
  const { list } = scripted([() => whole(one), hanging, () => ({ kind: 'unchanged' })], {
    syncTimeout: '2s',
  })
  const app = await booted(t, list)

  assert.equal((await app.inject(sync)).statusCode, 502)
  late?.()
  assert.equal((await app.inject(sync)).json().outcome, 'unchanged')
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@1.0.0'])
})

test('a sync that is requested while one runs begins after it', async (t) => {
  const open: (() => void)[] = []
  let begun = 0
  const source = sourcePlugin('main', async () => {
    const now = ++begun
    if (now > 1) await new Promise<void>((resolve) => open.push(resolve))
    return whole(server('a.example/one', `${now}.0.0`))
  })
  const app = await booted(t, [...registryOf([source], ['main']), internalRoutes])
  const asked = [app.inject(sync)]
  await eventually(() => open[0])
  asked.push(app.inject(sync), app.inject(sync))
  // An answer to who asks after them.
  await app.inject('/internal/readiness')
  open[0]?.()
  await eventually(() => open[1])
  open[1]?.()
  await Promise.all(asked)
  assert.equal(begun, 3)
  assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/one@3.0.0'])
})

test('a failed source is read again later, and not before its Retry-After', async (t) => {
  const times: number[] = []
  const busy = new UpstreamError('SOURCE_STATUS', 'busy', { retryAfter: 2 })
  const source = sourcePlugin(
    'main',
    async () => {
      times.push(performance.now())
      if (times.length === 1) throw busy
      return whole(one)
    },
    10,
  )
  const app = await booted(t, [...registryOf([source], ['main']), internalRoutes])
  await eventually(async () => ((await app.inject(BASE)).statusCode === 200 ? true : undefined))
  const [first = 0, second = 0] = times
  assert.ok(second - first >= 1_990, `${second - first}`)
})

test('the last good state is restored when the source is down, with its bookmark', async (t) => {
  const stateDirectory = folder(t)
  const good = (): FetchResult =>
    ({ ...whole(wrapped(one, { status: 'deprecated' }), two), bookmark: () => 'mark' }) as FetchResult
  const before = await booted(t, scripted([good], { stateDirectory }).list)
  const body = (await before.inject(BASE)).body

  const down = scripted([failing(new Error('it is down'))], { stateDirectory })
  const after = await booted(t, down.list)
  assert.equal((await after.inject(BASE)).body, body)
  assert.equal((await after.inject('/internal/readiness')).statusCode, 200)
  assert.equal((await after.inject('/internal/readiness')).json().checks['source main'].status, 'degraded')
  assert.equal(down.seen[0], 'mark')
})

test('the gateway stops at once when a source hangs, and leaves no temporary file', async (t) => {
  const stateDirectory = folder(t)
  const { list } = scripted([() => whole(one), () => new Promise<FetchResult>(() => {})], { stateDirectory })
  const running = await serving(t, list)
  const hanging = fetch(`${running.addresses.internal}/sync/main`, { method: 'POST' }).catch(() => {})
  await eventually(() => documentsIn(stateDirectory).length === 1)
  const since = performance.now()
  await running.stop(0)
  await hanging
  assert.ok(performance.now() - since < 2_000)
  assert.deepEqual(readdirSync(stateDirectory), ['catalogue.sqlite'])
})

test('POST /sync: 404 for an unknown source, 403 for a page in a browser', async (t) => {
  const { list } = fileRegistry(t, [one])
  const app = await booted(t, [...list, internalRoutes])
  assert.equal((await app.inject({ method: 'POST', url: '/internal/sync/other' })).statusCode, 404)
  assert.equal((await app.inject({ method: 'GET', url: '/internal/sync/main' })).statusCode, 404)
  assert.equal((await app.inject({ ...sync, headers: { origin: 'http://127.0.0.1' } })).statusCode, 403)
  assert.equal((await app.inject(sync)).statusCode, 200)
})

test('Node warns of no leak with the listeners of many sources', async (t) => {
  const warnings: string[] = []
  const listen = ({ message }: Error): unknown => warnings.push(message)
  process.on('warning', listen)
  t.after(() => process.off('warning', listen))
  const names = Array.from({ length: 12 }, (_, index) => `source-${index}`)
  const app = await booted(
    t,
    registryOf(
      names.map((name) => sourcePlugin(name, async () => whole(one))),
      names,
    ),
  )
  assert.equal((await app.inject(BASE)).statusCode, 200)
  // Warnings come in the next tick.
  await new Promise(setImmediate)
  assert.deepEqual(warnings, [])
})

test('unknown and duplicate names of sources are errors at the start, all of them reported', async (t) => {
  const list = registryOf([sourcePlugin('main', async () => whole(one))], ['mian'])
  await assert.rejects(booted(t, list), /no source is called "mian".*did you mean "main"/)
  const twice = [
    sourcePlugin('main', async () => whole(one)),
    { ...sourcePlugin('main', async () => whole(two)), id: 'second' },
  ]
  await assert.rejects(booted(t, registryOf(twice, ['main'])), /two sources have this name/)
})
