import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { contractSuite } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { another, holding, storeSuite, storing } from './storing.js'

type Options = Readonly<Record<string, unknown>>

const entryIn = (directory: string, options: Options = {}) => ({
  use: 'state/sqlite',
  with: { directory, ...options },
})
const inFiles = (t: TestContext, directory: string, options?: Options) =>
  storing(t, [entryIn(directory, options)])

storeSuite('state/sqlite', (t) => entryIn(folder(t)))

test('only this user may read the files and their directory', {
  skip: process.platform === 'win32',
}, async (t) => {
  const directory = join(folder(t), 'deep', 'state')
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  chmodSync(directory, 0o755)
  const { store } = await inFiles(t, directory)
  await store.set('key', 'canary')
  await store.locked('key', async () => {})

  assert.equal(statSync(directory).mode & 0o777, 0o700)
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(directory, name),
  )
  const modes = files.filter((file) => statSync(file).isFile()).map((file) => statSync(file).mode & 0o777)
  assert.ok(modes.length >= 2)
  assert.deepEqual([...new Set(modes)], [0o600])
})

test('the lock of a killed process is free at once', async (t) => {
  const directory = folder(t)
  const holder = await holding(t, entryIn(directory))
  const { store } = await inFiles(t, directory)
  let entered = false
  const waiting = store.locked('key', async () => {
    entered = true
  })
  await setTimeout(300)
  assert.equal(entered, false)

  const since = Date.now()
  await holder.killed()
  await waiting
  assert.ok(Date.now() - since < 2000)
})

test('processes that count under a lock lose nothing, also when one of them is killed', async (t) => {
  const directory = folder(t)
  const counter = join(folder(t), 'count')
  writeFileSync(counter, '0')
  const victim = await holding(t, entryIn(directory))
  const counting = Array.from({ length: 6 }, () => another(t, entryIn(directory), 'count', counter).closed)
  await setTimeout(500)
  await victim.killed()
  assert.deepEqual([...new Set((await Promise.all(counting)).map(([code]) => code))], [0])
  assert.equal(readFileSync(counter, 'utf8'), '30')
  // One file is left of all these locks.
  assert.equal(readdirSync(join(directory, 'locks')).length, 1)
})

test('damaged, truncated and unknown files count as absent, and are logged', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  await store.set('key', 'value')
  const [name = ''] = readdirSync(directory).filter((file) => file.endsWith('.json'))
  for (const text of [
    '',
    '{',
    'null',
    '{"format":7,"key":"key"}',
    '{"format":1,"key":"key"}',
    '\u0000'.repeat(99),
  ]) {
    writeFileSync(join(directory, name), text)
    const { store: later, lines } = await inFiles(t, directory)
    assert.equal(await later.get('key'), undefined)
    assert.equal(await later.get('key'), undefined)
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 1)
    await later.set('key', 'new')
    assert.equal(await later.get('key'), 'new')
  }
})

test('a file that cannot be read is not absent', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  await store.set('key', 'value')
  const [name = ''] = readdirSync(directory).filter((file) => file.endsWith('.json'))
  rmSync(join(directory, name))
  mkdirSync(join(directory, name))
  await assert.rejects(store.get('key'), { code: 'EISDIR' })
})

test('a file of a later version with more fields is read', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  await store.set('key', 'value')
  const [name = ''] = readdirSync(directory).filter((file) => file.endsWith('.json'))
  const kept = JSON.parse(readFileSync(join(directory, name), 'utf8'))
  writeFileSync(join(directory, name), JSON.stringify({ ...kept, more: true }))
  assert.equal(await store.get('key'), 'value')
})

test('a directory that cannot be used stops the start, and the message names it', async (t) => {
  const file = join(folder(t, { file: '' }), 'file')
  await assert.rejects(inFiles(t, join(file, 'state')), (error: Error) => {
    assert.match(error.message, /cannot keep state in .*ENOTDIR/)
    return true
  })
})

test('with a passphrase the files hold no plain text, and cannot be decrypted without it', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory, { passphrase: 'open sesame' })
  await store.set('key', 'canary-value')
  await store.set('other', 'canary-value')
  const texts = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({ name, text: readFileSync(join(directory, name), 'utf8') }))
  assert.ok(texts.every(({ text }) => !text.includes('canary')))

  const again = await inFiles(t, directory, { passphrase: 'open sesame' })
  assert.equal(await again.store.get('key'), 'canary-value')
  // The values are not overwritten, as the passphrase may be available later.
  for (const options of [{}, { passphrase: 'wrong' }]) {
    const { store: shut } = await inFiles(t, directory, options)
    await assert.rejects(shut.get('key'), { code: 'STATE_SEALED' })
    await assert.rejects(shut.set('key', 'new'), { code: 'STATE_SEALED' })
  }
  assert.equal(await again.store.get('key'), 'canary-value')

  // An encrypted value that is copied to another key cannot be decrypted.
  const [one, two] = texts
  assert.ok(one && two)
  const moved = { ...JSON.parse(two.text), value: JSON.parse(one.text).value }
  writeFileSync(join(directory, two.name), JSON.stringify(moved))
  const swapped = await inFiles(t, directory, { passphrase: 'open sesame' })
  await assert.rejects(swapped.store.get(moved.key), { code: 'STATE_SEALED' })
})

for (const options of [{}, { passphrase: 'open sesame' }]) {
  const how = 'passphrase' in options ? 'encrypted' : 'plain'
  test(`a file that is copied over another is not the value of that key: ${how}`, async (t) => {
    const directory = folder(t)
    const { store } = await inFiles(t, directory, options)
    const files = () => readdirSync(directory).filter((name) => name.endsWith('.json'))
    await store.set('theirs', 'canary-theirs')
    const [theirs = ''] = files()
    await store.set('mine', 'mine')
    const [mine = ''] = files().filter((name) => name !== theirs)
    copyFileSync(join(directory, theirs), join(directory, mine))

    const { store: later, lines } = await inFiles(t, directory, options)
    assert.equal(await later.get('mine'), undefined)
    assert.equal(await later.get('theirs'), 'canary-theirs')
    assert.equal(lines.filter(({ level }) => level === 'warn').length, 1)
    await later.set('mine', 'new')
    assert.equal(await later.get('mine'), 'new')
  })
}

contractSuite('state/sqlite', (t) => ({
  list: [{ use: 'state/sqlite', with: { directory: folder(t, {}) } }],
}))
