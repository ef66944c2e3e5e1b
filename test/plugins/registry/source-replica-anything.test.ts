import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Entry, FetchResult } from 'sallyport'
import { booted } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { SharedStore } from '#kit/shared-store.js'
import { BASE, internalRoutes, registryOf, server, sourcePlugin, sync, wrapped } from './registry.js'

/** A few names and versions, so that they come again; values whose text JSON.parse would change. */
const { value: anything } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.constantFrom(
      '1.0',
      '-0',
      '1E+400',
      '12345678901234567890',
      '"\\ud800"',
      '"\\u0000\\/"',
      '{ "a":1 ,"a": 2}',
      'null',
    ),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' ,\n')}]`),
  ),
}))
const date = fc.option(
  fc.constantFrom('2024-01-01T00:00:00Z', '2024-05-06T07:08:09.123456+02:00', '1970-01-01T00:00:00.000Z'),
)
const documentText = fc
  .record({
    name: fc.constantFrom('a.example/s', 'a.example/t', 'B.example/s'),
    version: fc.constantFrom('1.0.0', '1.0.0-rc.1', 'v2', 'x\0', '\ud800', '😀'),
    status: fc.option(fc.constantFrom('active', 'deprecated', 'deleted')),
    statusMessage: fc.option(fc.constantFrom('', '"publishedAt":"x"')),
    publishedAt: date,
    updatedAt: date,
    more: anything,
    meta: anything,
  })
  .map(({ name, version, more, meta, ...official }) => {
    const given = Object.fromEntries(Object.entries(official).filter(([, each]) => each !== null))
    return `{"server":{"more":${more},"name":"${name}","version":${JSON.stringify(version)},"description":"d","_meta":{"x":${meta}}},
      "_meta":{"a.example/m" :${meta},"io.modelcontextprotocol.registry/official":${JSON.stringify(given)}}}`
  })

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('whole' as const, 'changes' as const),
    texts: fc.array(documentText, { maxLength: 6 }),
    deposed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)

type App = Awaited<ReturnType<typeof booted>>

async function servedBy(app: App): Promise<unknown> {
  const list = await app.inject(`${BASE}?limit=100&include_deleted=true`)
  const names = ['a.example%2Fs', 'a.example%2Ft', 'B.example%2Fs']
  const others = await Promise.all(
    names.map((name) => app.inject(`${BASE}/${name}/versions?include_deleted=true`)),
  )
  // A refusal has the id of its request.
  return [list, ...others].map(({ statusCode, headers, body }) =>
    statusCode === 200 ? [headers.etag, body] : statusCode,
  )
}

const down = sourcePlugin('main', () => Promise.reject(new Error('it is down')))
const registry = (t: TestContext, store: Entry, source: Entry): Promise<App> =>
  booted(t, [store, ...registryOf([source], ['main'], { stateDirectory: undefined }), internalRoutes])

test('whatever is read, a follower, a later start and a restored state serve the same bytes and tags', async (t) => {
  for (const sample of fc.sample(steps, { numRuns: 12, seed: 23 })) {
    let next: FetchResult = { kind: 'whole', payloads: [] }
    const source = sourcePlugin('main', async () => next)
    const shared = new SharedStore()
    const store = () => ({ use: shared.plugin() })
    const files = { use: 'store/sqlite', with: { directory: folder(t) } }
    const [own, first, second] = [
      await registry(t, files, source),
      await registry(t, store(), source),
      await registry(t, store(), source),
    ]
    for (const { kind, texts, deposed } of sample) {
      next = { kind, payloads: [Buffer.from(`[${texts.join()}]`)] }
      if (deposed) shared.changeLeader()
      for (const app of [own, first, second]) await app.inject(sync)
      await eventually(async () => {
        const [left, right] = await Promise.all([servedBy(first), servedBy(second)])
        return JSON.stringify(left) === JSON.stringify(right)
      })
    }
    const served = await servedBy(first)
    next = { kind: 'unchanged' }
    const copied = shared.plugin()
    assert.deepEqual(await servedBy(await registry(t, { use: copied }, source)), served)
    shared.unreachable = 'it is away'
    assert.deepEqual(await servedBy(await registry(t, { use: copied }, source)), served)
    assert.deepEqual(await servedBy(await registry(t, files, down)), await servedBy(own))
  }
})

const moment = fc
  .record({
    day: fc.constantFrom('2024-01-01', '1970-01-01', '0000-01-01', '9999-12-31'),
    time: fc.constantFrom('00:00', '00:00:00', '23:59:59.000', '07:08:09.123456', '07:08:09.1'),
    zone: fc.constantFrom('Z', '+00:00', '+02:00', '-05:30'),
  })
  .map(({ day, time, zone }) => `${day}T${time}${zone}`)
const dated = fc.array(fc.record({ publishedAt: moment, updatedAt: moment }, { requiredKeys: [] }), {
  minLength: 1,
  maxLength: 20,
})

test('a change of leader changes no bytes and no tags while the source gives the same', async (t) => {
  for (const sample of fc.sample(dated, { numRuns: 8, seed: 7 })) {
    const documents = sample.map((official, index) =>
      wrapped(server('a.example/s', `1.0.${index}`), official),
    )
    let space = 0
    const reads: string[] = []
    const shared = new SharedStore()
    const replica = (name: string): Promise<App> => {
      const fetch = async (): Promise<FetchResult> => {
        reads.push(name)
        return { kind: 'whole', payloads: [Buffer.from(JSON.stringify(documents, null, space))] }
      }
      return registry(t, { use: shared.plugin() }, sourcePlugin('main', fetch))
    }
    const both = [await replica('first'), await replica('second')]
    const before = await Promise.all(both.map(servedBy))
    for (space = 0; space < 3; space++) {
      const { length } = reads
      shared.changeLeader()
      await eventually(() => reads.length > length)
      for (const app of both) await app.inject(sync)
      assert.deepEqual(await Promise.all(both.map(servedBy)), before)
    }
    assert.deepEqual([...new Set(reads)], ['first', 'second'])
  }
})
