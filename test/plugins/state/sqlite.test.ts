import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { contractSuite } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { pathIn, plant, sql, textIn, valuesIn } from './stored.js'
import { another, holding, storeSuite, storing } from './storing.js'

type Options = Readonly<Record<string, unknown>>

const entryIn = (directory: string, options: Options = {}) => ({
  use: 'state/sqlite',
  with: { directory, ...options },
})
const inFolder = (t: TestContext, directory: string, options?: Options) =>
  storing(t, [entryIn(directory, options)])

contractSuite('state/sqlite', (t) => ({ list: [entryIn(folder(t))] }))

storeSuite('state/sqlite', (t) => entryIn(folder(t)))

test('only this user may read the files and their directory', {
  skip: process.platform === 'win32',
}, async (t) => {
  const directory = join(folder(t), 'deep', 'state')
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  chmodSync(directory, 0o755)
  writeFileSync(pathIn(directory), '', { mode: 0o644 })
  const { store } = await inFolder(t, directory)
  await store.set('key', 'canary')
  const modes = await store.locked('key', async () => {
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) =>
      statSync(join(directory, name)),
    )
    return files.map((file) => (file.isFile() ? 0 : 0o100) | (file.mode & 0o677))
  })
  // The database, its log and index, the folder of locks, and a lock.
  assert.deepEqual(
    modes.toSorted((one, other) => one - other),
    [0o600, 0o600, 0o600, 0o600, 0o700],
  )
  assert.equal(statSync(directory).mode & 0o777, 0o700)
})

test('values, and when they expire, are there after another start, and each write deletes some that expired', async (t) => {
  const directory = folder(t)
  const { store } = await inFolder(t, directory)
  await store.set('stays', 'value', { expiresAt: Date.now() + 3_600_000 })
  for (const key of ['one', 'two']) await store.set(key, 'value', { expiresAt: Date.now() + 50 })
  await setTimeout(60)

  const { store: next } = await inFolder(t, directory)
  assert.deepEqual(await next.keys(''), ['stays'])
  assert.deepEqual([await next.get('stays'), await next.get('one')], ['value', undefined])
  assert.equal(valuesIn(directory).length, 3)
  await next.set('new', 'value')
  assert.deepEqual(
    valuesIn(directory).map(({ key }) => key),
    ['new', 'stays'],
  )
})

test('of several processes that take a value exactly one gets it', async (t) => {
  const directory = folder(t)
  const stores = await Promise.all([1, 2, 3, 4].map(() => inFolder(t, directory)))
  for (let round = 0; round < 50; round++) {
    await stores[0]?.store.set('ticket', `${round}`)
    const taken = await Promise.all(stores.map(({ store }) => store.take('ticket')))
    assert.deepEqual(
      taken.filter((value) => value !== undefined),
      [`${round}`],
    )
  }
})

test('the lock of a killed process is free at once', async (t) => {
  const directory = folder(t)
  const holder = await holding(t, entryIn(directory))
  const { store } = await inFolder(t, directory)
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
  // Nothing is left of all these locks.
  assert.deepEqual(readdirSync(join(directory, 'locks')), [])
})

const UNUSABLE: Readonly<Record<string, readonly [(directory: string) => void, RegExp]>> = {
  'a file where the directory should be': [(path) => writeFileSync(path, ''), /EEXIST|ENOTDIR/],
  'a folder in place of the database': [
    (path) => mkdirSync(pathIn(path), { recursive: true }),
    /it is no file, but a folder or a link/,
  ],
  'a link in place of the database': [
    (path) => {
      mkdirSync(path)
      symlinkSync(join(path, 'elsewhere'), pathIn(path))
    },
    /it is no file, but a folder or a link/,
  ],
  'another file in place of the database': [
    (path) => {
      mkdirSync(path)
      writeFileSync(pathIn(path), 'x'.repeat(5000))
    },
    /damaged, or no database: move it away/,
  ],
}

for (const [what, [spoil, reason]] of Object.entries(UNUSABLE)) {
  test(`${what} stops the start, and the message names it`, async (t) => {
    const directory = join(folder(t), 'state')
    spoil(directory)
    await assert.rejects(inFolder(t, directory), ({ message }: Error) => {
      assert.ok(message.includes(`cannot keep state in ${pathIn(directory)}: `), message)
      assert.match(message, reason)
      return true
    })
  })
}

test('a database of a newer version stops the start, and nothing of it is changed', async (t) => {
  const directory = folder(t)
  const { store } = await inFolder(t, directory)
  await store.set('key', 'value')
  sql(directory, 'pragma user_version = 2')
  await assert.rejects(inFolder(t, directory), /a newer version wrote it \(level 2, and this one knows 1\)/)
  assert.equal(valuesIn(directory).length, 1)
})

test('with a passphrase the database holds no plain text, and cannot be decrypted without it', async (t) => {
  const directory = folder(t)
  const { store } = await inFolder(t, directory, { passphrase: 'open sesame' })
  await store.set('key', 'canary-value')
  await store.set('other', 'canary-value')
  assert.doesNotMatch(textIn(directory), /canary/)

  const again = await inFolder(t, directory, { passphrase: 'open sesame' })
  assert.equal(await again.store.get('key'), 'canary-value')
  // The values are not overwritten, as the passphrase may be available later.
  for (const options of [{}, { passphrase: 'wrong' }]) {
    const { store: shut } = await inFolder(t, directory, options)
    await assert.rejects(shut.get('key'), { code: 'STATE_SEALED' })
    await assert.rejects(shut.take('key'), { code: 'STATE_SEALED' })
    await assert.rejects(shut.set('key', 'new'), { code: 'STATE_SEALED' })
  }
  assert.equal(await again.store.get('key'), 'canary-value')

  const other = valuesIn(directory).find(({ key }) => key === 'other')
  plant(directory, 'key', other?.value ?? '', 1)
  await assert.rejects(again.store.get('key'), { code: 'STATE_SEALED' }, 'the value of another key')
})
