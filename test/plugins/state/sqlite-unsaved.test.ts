import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { storing, takingStores } from './storing.js'

const CANNOT = 'values cannot be saved: they last'
const AGAIN = 'values are saved again'

/** A directory in which nothing can be written for a while, not even by root: a file is in its place. */
function unreliable(t: TestContext) {
  const directory = join(folder(t), 'state')
  const away = `${directory}.away`
  return {
    entry: { use: 'state/sqlite', with: { directory } },
    begin() {
      renameSync(directory, away)
      writeFileSync(directory, '')
    },
    end() {
      rmSync(directory)
      renameSync(away, directory)
    },
  }
}

test('values that cannot be saved are read and deleted in memory, and saved when that works again', async (t) => {
  const { entry, begin, end } = unreliable(t)
  const { store, lines } = await storing(t, [entry])
  await store.set('k/old', 'old')
  await store.set('k/gone', 'gone')
  begin()

  await store.locked('k/old', () => store.set('k/old', 'new'))
  await assert.rejects(store.delete('k/gone'), /state\.sqlite/)
  assert.deepEqual([await store.get('k/old'), await store.get('k/gone')], ['new', undefined])
  const logged = (part: string) => lines.filter(({ msg }) => String(msg).includes(part)).length
  assert.deepEqual([logged(CANNOT), logged(AGAIN)], [1, 0])

  end()
  await eventually(() => logged(AGAIN) === 1)
  const { store: other } = await storing(t, [entry])
  assert.deepEqual([await other.get('k/old'), await other.keys('k/')], ['new', ['k/old']])
  assert.equal(logged(CANNOT), 1)
})

test('a process takes no unsaved value that other processes could take too', async (t) => {
  const { entry, begin, end } = unreliable(t)
  const { store } = await storing(t, [entry])
  await store.set('ticket', 'old')
  begin()
  await assert.rejects(store.take('ticket'), /state\.sqlite/)
  await store.set('ticket', 'new')
  await assert.rejects(store.take('ticket'), /state\.sqlite/)

  end()
  const { store: other } = await storing(t, [entry])
  assert.equal(await store.take('ticket'), 'new')
  assert.equal(await other.take('ticket'), undefined)
})

test('a value that expires while it cannot be saved is gone', async (t) => {
  const { entry, begin } = unreliable(t)
  const { store } = await storing(t, [entry])
  begin()
  await store.set('key', 'value', { expiresAt: Date.now() + 3_600_000 })
  assert.equal(await store.get('key'), 'value')
  await store.set('key', 'value', { expiresAt: Date.now() - 1 })
  assert.equal(await store.get('key'), undefined)
})

test('a value that could not be saved is there after a reload, and saved as soon as possible', async (t) => {
  const { entry, begin, end } = unreliable(t)
  const { use, stores } = takingStores()
  const list = [entry, { use }]
  const { log, lines } = recordedLog()
  const running = await serving(t, list, { log })
  await stores[0]?.set('key', 'old')
  begin()
  await stores[0]?.set('key', 'new')

  await running.swap(list)
  assert.equal(await stores[1]?.get('key'), 'new')
  end()
  await eventually(() => lines.some(({ msg }) => msg === AGAIN))
  const { store } = await storing(t, [entry])
  assert.equal(await store.get('key'), 'new')
})

test('after a failed write, a later write or delete counts', async (t) => {
  const { entry, begin, end } = unreliable(t)
  const { store } = await storing(t, [entry])
  await store.set('k/a', 'old')
  begin()
  for (const key of ['k/a', 'k/new', 'k/other']) await store.set(key, 'unsaved')
  end()

  await store.set('k/a', 'later')
  await store.delete('k/new')
  assert.deepEqual([await store.get('k/a'), await store.get('k/new')], ['later', undefined])
  assert.deepEqual(await store.keys('k/'), ['k/a', 'k/other'])
})

test('a stop saves values that could not be saved before', async (t) => {
  const { entry, begin, end } = unreliable(t)
  const { use, stores } = takingStores()
  const running = await serving(t, [entry, { use }])
  begin()
  await stores[0]?.set('key', 'unsaved')
  end()

  await running.stop()

  assert.equal(await (await storing(t, [entry])).store.get('key'), 'unsaved')
})
