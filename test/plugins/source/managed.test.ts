import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManagedSource, type Publications, type RegistryView } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { booted, contextFor, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen, plugin } from '#kit/plugin.js'
import { BASE, OFFICIAL } from '../registry/registry.js'
import { actor, limits, publish, publishedList, publishing, versionOf } from '../store/publishing.js'

const files = (directory: string) => ({ use: 'store/sqlite', with: { directory } })

contractSuite('source/managed', (t) => ({
  list: [files(folder(t)), { use: 'source/managed', with: { name: 'published' } }],
}))

test('a publication is served after a refresh, with its values as they were sent', async (t) => {
  const { app, publications, catalogue, refresh } = await publishing(t, files(folder(t)))
  const text = '{ "name": "a.example/one",\n "version": "1.0.0", "description": "\\u0061", "x": 1.0e2 }'

  const event = await publications.publish(versionOf('a.example/one', '1.0.0', text), actor, limits)
  await refresh()

  const answer = await app.inject(`${BASE}/a.example%2Fone/versions/latest`)
  assert.match(answer.body, /"description":"\\u0061","x":1\.0e2/)
  assert.deepEqual(answer.json()._meta[OFFICIAL], {
    status: 'active',
    statusChangedAt: event.at,
    publishedAt: event.at,
    updatedAt: event.at,
    isLatest: true,
  })
  const view = catalogue.registry('default') as RegistryView
  assert.equal(view.sourceOf?.('a.example/one'), 'published')
  assert.equal(view.sourceOf?.('a.example/two'), undefined)
  assert.deepEqual(catalogue.sourcesOf?.('default'), ['published'])
  assert.deepEqual(catalogue.sourcesOf?.('other'), [])
})

test('a deleted version stays, and is no longer the latest', async (t) => {
  const { app, publications, refresh } = await publishing(t, files(folder(t)))
  await publications.publish(versionOf('a.example/one', '1.0.0'), actor, limits)
  await publications.publish(versionOf('a.example/one', '2.0.0'), actor, limits)

  await publications.setStatus(
    { name: 'a.example/one', version: '2.0.0' },
    { status: 'deleted', statusMessage: 'no' },
    actor,
  )
  await refresh()

  const { servers } = (await app.inject(`${BASE}?include_deleted=true`)).json()
  assert.deepEqual(
    servers.map((each: { _meta: Record<string, Record<string, unknown>> }) => {
      const { status, statusMessage, isLatest } = each._meta[OFFICIAL] ?? {}
      return [status, statusMessage, isLatest]
    }),
    [
      ['deleted', 'no', false],
      ['active', undefined, true],
    ],
  )
})

test('another start with the same folder serves the same bytes and tags', async (t) => {
  const directory = folder(t)
  const first = await publishing(t, files(directory))
  await first.publications.publish(versionOf('a.example/one', '1.0.0'), actor, limits)
  await first.refresh()
  const before = await first.app.inject(BASE)
  await first.stop()

  const { app } = await publishing(t, files(directory))
  const after = await app.inject(BASE)
  assert.equal(after.body, before.body)
  assert.equal(after.headers.etag, before.headers.etag)
})

test('200 refreshes at once are one sync or two', async (t) => {
  const registry = await publishing(t, files(folder(t)))
  const syncs = async (): Promise<number> => {
    const { body } = await registry.metrics()
    return Number(/registry_syncs_total\{[^}]*unchanged[^}]*\} (\d+)/.exec(body)?.[1] ?? 0)
  }
  const before = await syncs()
  await Promise.all(Array.from({ length: 200 }, () => registry.refresh()))
  const made = (await syncs()) - before
  assert.ok(made === 1 || made === 2, String(made))
})

test('a refresh of an unknown source throws, and so does one that fails', async (t) => {
  const { catalogue, publications, refresh, stop } = await publishing(t, files(folder(t)))
  await assert.rejects(async () => catalogue.refresh?.('other'), TypeError)
  await stop()
  await assert.rejects(publications.publish(versionOf('a.example/one', '1'), actor, limits), {
    statusCode: 503,
  })
  await assert.rejects(refresh)
})

test('a list without a store for publications is refused with that reason', async (t) => {
  const [, ...list] = publishedList(files(folder(t)))
  await assert.rejects(
    booted(t, list),
    /"source\/managed": it needs a publication store, and nothing in the list provides one/,
  )
})

test('a reload keeps the open database, and later publications are served', async (t) => {
  const directory = folder(t)
  let publications: () => Publications = () => assert.fail('not booted')
  const user = plugin('user', (gateway) => {
    const sources = gateway.use(ManagedSource)
    gateway.onStart(() => {
      publications = sources()[0]?.publications ?? publications
    })
  })
  const list = [listen, ...publishedList(files(directory)), user]
  const running = await serving(t, list)
  await publish(publications(), 'a.example/one', '1.0.0')
  const before = publications()

  await running.swap(list, contextFor({}))
  assert.equal(publications(), before)
  await publish(publications(), 'a.example/one', '2.0.0')
  await eventually(async () => {
    const { metadata } = (await (await fetch(`${running.addresses.main}${BASE}`)).json()) as {
      metadata: { count: number }
    }
    return metadata.count === 2
  })
})
