import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FetchResult } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { variables } from '#kit/variables.js'
import { stateFiles } from '#plugins/store/state-file.js'
import { BASE, payload, registryOf, server, sourcePlugin } from '../registry/registry.js'

contractSuite('store/files', (t) => ({ list: [{ use: 'store/files', with: { directory: folder(t) } }] }))

const source = (fetch: () => Promise<FetchResult>) => sourcePlugin('main', fetch)
const documents = [server('a.example/one', '1.0.0'), server('a.example/two', '1.0.0')]
const whole = async (): Promise<FetchResult> => ({
  kind: 'whole',
  payloads: [payload(documents)],
  bookmark: () => 'mark',
})
const down = async (): Promise<FetchResult> => {
  throw new Error('it is down')
}
const without = { stateDirectory: undefined }

test('what an older list saved in its stateDirectory is served from store/files, and the other way round', async (t) => {
  for (const isNew of [true, false]) {
    const directory = folder(t)
    const list = (fetch: () => Promise<FetchResult>, usesStore: boolean) =>
      usesStore
        ? [{ use: 'store/files', with: { directory } }, ...registryOf([source(fetch)], ['main'], without)]
        : registryOf([source(fetch)], ['main'], { stateDirectory: directory })
    const saved = await booted(t, list(whole, !isNew))
    const { body, headers } = await saved.inject(BASE)
    assert.deepEqual(
      readdirSync(directory).map((name) => name.replace(/[0-9a-f]{12}/, 'HASH')),
      ['main-HASH.state'],
    )
    const restored = await booted(t, list(down, isNew))
    const answer = await restored.inject(BASE)
    assert.equal(answer.body, body)
    assert.equal(answer.headers.etag, headers.etag)
  }
})

test('a file that an earlier version wrote is served', async (t) => {
  const directory = folder(t)
  const text = `[${JSON.stringify(server('a.example/one', '1.0.0'))}]`
  const last = { format: 1, place: 'test main', sha256: createHash('sha256').update(text).digest('hex') }
  const place = createHash('sha256').update(last.place).digest('hex').slice(0, 12)
  writeFileSync(join(directory, `main-${place}.state`), `${text}\n${JSON.stringify(last)}\n`)
  const app = await booted(t, [
    { use: 'store/files', with: { directory } },
    ...registryOf([source(down)], ['main'], without),
  ])
  assert.equal((await app.inject(BASE)).json().metadata.count, 1)
})

test('a file that is torn, changed or of another place is not read', async (t) => {
  const directory = folder(t)
  const { signal } = new AbortController()
  const [here, there] = ['here', 'there'].map((place) => stateFiles(directory).open({ name: 'main', place }))
  assert.ok(here !== undefined && there !== undefined)
  const all = [{ name: 'a', version: '1', parts: [Buffer.from('"document"')] }]
  await here.write({ changed: [], removed: [], all, bookmark: undefined }, signal)
  const text = readFileSync(here.path, 'utf8')

  writeFileSync(there.path, text)
  await assert.rejects(there.read(undefined, signal), /belongs to another place/)
  for (const [content, fault] of [
    [text.replace('document', 'Document'), /has a wrong checksum/],
    [text.slice(0, 5), /is incomplete/],
    ['', /is incomplete/],
  ] as const) {
    writeFileSync(here.path, content)
    await assert.rejects(here.read(undefined, signal), fault)
  }
  writeFileSync(here.path, text)
  assert.equal((await here.read(undefined, signal))?.kind, 'whole')
  assert.equal(await here.read(0, signal), undefined)
})

test('the state of a source is saved under any name', async (t) => {
  const directory = folder(t)
  const { signal } = new AbortController()
  const names = [
    'a'.repeat(219),
    'b'.repeat(5_000),
    `${'b'.repeat(5_000)}c`,
    'サーバー'.repeat(10),
    '\ud800/..',
  ]
  const stores = names.map((name) => stateFiles(directory).open({ name, place: 'test' }))
  for (const [index, store] of stores.entries()) {
    const all = [{ name: 'a', version: '1', parts: [Buffer.from(`${index}`)] }]
    await store.write({ changed: [], removed: [], all, bookmark: undefined }, signal)
  }
  for (const [index, store] of stores.entries())
    assert.deepEqual((await store.read(undefined, signal))?.payloads, [Buffer.from(`[${index}]`)])
})

test('on a disk that becomes full within the last line, the last good state stays', {
  skip: noDisk ?? false,
}, async (t) => {
  const { place } = smallDisk(t, '64k')
  const { signal } = new AbortController()
  const store = stateFiles(join(place, 'state')).open({ name: 'main', place: 'test' })
  const write = (text: string) => {
    const all = [{ name: 'a', version: '1', parts: [Buffer.from(text)] }]
    // Longer than a block of the disk.
    return store.write({ changed: [], removed: [], all, bookmark: 'b'.repeat(5_000) }, signal)
  }
  await write('"old"')
  // A state takes two blocks, and as many again while it is replaced.
  writeFileSync(join(place, 'filler'), Buffer.alloc(64 * 1024 - 3 * 4096))

  await assert.rejects(write('"new"'), { code: 'ENOSPC' })
  const stored = await store.read(undefined, signal)
  assert.deepEqual(stored?.payloads, [Buffer.from('["old"]')])
})

test('what a full disk did not take is saved once there is room, also when the source changes no more', {
  skip: noDisk ?? false,
}, async (t) => {
  const { place, faults } = smallDisk(t)
  const list = (fetch: () => Promise<FetchResult>) => [
    { use: 'store/files', with: { directory: place } },
    ...registryOf([source(fetch)], ['main'], without),
  ]
  faults.full.begin()
  const app = await booted(t, list(whole))
  const { body } = await app.inject(BASE)
  assert.equal(JSON.parse(body).metadata.count, 2)
  faults.full.end()

  await eventually(() => readdirSync(place).some((name) => name.endsWith('.state')), 30)
  const restored = await booted(t, list(down))
  assert.equal((await restored.inject(BASE)).body, body)
})

test('without a directory the files are in the state directory of the user', async (t) => {
  const home = folder(t)
  variables(t, { XDG_STATE_HOME: home })
  await booted(t, [{ use: 'store/files' }, ...registryOf([source(whole)], ['main'], without)])
  assert.equal(readdirSync(join(home, 'sallyport', 'registry')).length, 1)
})

test('a list has one store at most, and no stateDirectory beside it', async (t) => {
  const store = { use: 'store/files', with: { directory: folder(t) } }
  const twice = [store, { ...store, id: 'mine' }, ...registryOf([source(whole)], ['main'], without)]
  await assert.rejects(
    booted(t, twice),
    /"mine".*it provides a catalogue store, and so does "store\/files": there can be one/,
  )
  const both = [store, ...registryOf([source(whole)], ['main'], { stateDirectory: folder(t) })]
  await assert.rejects(booted(t, both), /stateDirectory.*has no effect beside a catalogue store/)
})
