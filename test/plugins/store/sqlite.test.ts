import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { FetchResult } from 'sallyport'
import { booted, contractSuite } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { variables } from '#kit/variables.js'
import { BASE, payload, registryOf, server, sourcePlugin } from '../registry/registry.js'
import { change, forever, read, storeOf } from './catalogue-stores.js'

contractSuite('store/sqlite', (t) => ({ list: [{ use: 'store/sqlite', with: { directory: folder(t) } }] }))

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
const pathIn = (directory: string): string => join(directory, 'catalogue.sqlite')
const inFolder = (t: TestContext, directory: string) => storeOf(t, 'store/sqlite', { directory })
const listIn = (directory: string, fetch: () => Promise<FetchResult>) => [
  { use: 'store/sqlite', with: { directory } },
  ...registryOf([source(fetch)], ['main'], without),
]

test('the next start serves the same bytes while the source is down', async (t) => {
  const directory = folder(t)
  const saved = await booted(t, listIn(directory, whole))
  const { body, headers } = await saved.inject(BASE)
  const restored = await booted(t, listIn(directory, down))
  const answer = await restored.inject(BASE)
  assert.equal(JSON.parse(body).metadata.count, 2)
  assert.equal(answer.body, body)
  assert.equal(answer.headers.etag, headers.etag)
})

test('a change replaces and removes the named versions, and leaves the rest', async (t) => {
  const store = (await inFolder(t, folder(t)))('main')
  await store.write(change({ 'a@1': '1', 'b@1': '2', 'c@1': '3' }), forever)
  await store.write(change({ 'b@1': '22' }, { removed: [{ name: 'c', version: '1' }] }), forever)
  assert.equal((await read(store))?.text, '[1,22]')

  await store.write({ ...change({ 'b@1': '5' }, { all: { 'd@1': '4' } }), replaces: true }, forever)
  assert.equal((await read(store))?.text, '[4]')
  assert.equal(await store.read(0, forever), undefined)
})

test('the next write removes documents that a killed process left a day ago', async (t) => {
  const directory = folder(t)
  const store = (await inFolder(t, directory))('main')
  await store.write(change({ 'a@1': '1' }), forever)
  const other = new DatabaseSync(pathIn(directory))
  t.after(() => other.close())
  const leave = other.prepare(
    "insert into added (write, since, name, version, document) values ('killed', unixepoch() - ?, x'61', x'31', x'32')",
  )
  leave.run(25 * 60 * 60)
  leave.run(60)

  await store.write(change({ 'b@1': '2' }), forever)
  assert.equal((await read(store))?.text, '[1,2]')
  assert.equal(other.prepare('select count(*) as left from added').get()?.['left'], 1)
})

test('the state of a source is stored under any name', async (t) => {
  const open = await inFolder(t, folder(t))
  const names = ['b'.repeat(5_000), `${'b'.repeat(5_000)}c`, 'サーバー'.repeat(10), '\ud800/..', '\udfff/..']
  for (const [index, name] of names.entries()) await open(name).write(change({ 'a@1': `${index}` }), forever)
  for (const [index, name] of names.entries()) assert.equal((await read(open(name)))?.text, `[${index}]`)
})

test('a write that is aborted stores nothing', async (t) => {
  const store = (await inFolder(t, folder(t)))('main')
  await store.write(change({ 'a@1': '1' }), forever)
  const reason = new Error('stopped')
  await assert.rejects(store.write(change({ 'a@1': '2' }), AbortSignal.abort(reason)))
  assert.equal((await read(store))?.text, '[1]')
})

test('a folder that somebody removes while the gateway runs is filled again by the next write', async (t) => {
  const directory = folder(t)
  const store = (await inFolder(t, directory))('main')
  await store.write(change({ 'a@1': '1' }), forever)
  rmSync(directory, { recursive: true })
  assert.equal(await store.read(undefined, forever), undefined)
  await store.write({ ...change({ 'a@1': '2' }), replaces: true }, forever)
  assert.equal((await read(store))?.text, '[2]')
  assert.ok(existsSync(pathIn(directory)))
})

test('a damaged state is reported, and the contents of the source are served', async (t) => {
  const directory = folder(t)
  writeFileSync(pathIn(directory), 'x'.repeat(5000))
  const app = await booted(t, listIn(directory, whole))
  assert.equal((await app.inject(BASE)).json().metadata.count, 2)
  const store = (await inFolder(t, directory))('main')
  await assert.rejects(store.read(undefined, forever), /damaged, or no database: move it away/)
})

test('without a directory the files are in the state directory of the user', async (t) => {
  const home = folder(t)
  variables(t, { XDG_STATE_HOME: home })
  await booted(t, [{ use: 'store/sqlite' }, ...registryOf([source(whole)], ['main'], without)])
  assert.ok(readdirSync(join(home, 'sallyport', 'registry')).includes('catalogue.sqlite'))
})

test('a list has one store at most', async (t) => {
  const store = { use: 'store/sqlite', with: { directory: folder(t) } }
  const twice = [store, { ...store, id: 'mine' }, ...registryOf([source(whole)], ['main'], without)]
  await assert.rejects(
    booted(t, twice),
    /"mine".*it provides a catalogue store, and so does "store\/sqlite": a scope can have only one/,
  )
})
