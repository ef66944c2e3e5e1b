import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { browse, realLogin } from '../credential/oauth/real-provider.js'
import { call, send } from '../forward/proxied.js'
import { storing, takingStores } from './storing.js'

const keptTexts = (directory: string): string =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('')

const times = (text: string, part: string): number => text.split(part).length - 1
const CANNOT = 'values cannot be saved: they last'
const AGAIN = 'values are saved again'

for (const fault of ['full', 'read-only'] as const) {
  test(`a ${fault} disk ends no login: it is refreshed and used, and saved as soon as possible`, {
    skip: noDisk ?? false,
  }, async (t) => {
    const { place, faults } = smallDisk(t)
    const { target, counts } = await realLogin(t, { life: 3 })
    const flags = [`--target-uri=${target}`, '--remote-auth', '--remote-auth-skip-browser']
    const ports = ['--port=0', '--remote-auth-callback-port=0', '--internal-address=127.0.0.1:0']
    const start = () =>
      program(t, ['proxy', 'mine', ...flags, ...ports], {
        environment: { XDG_STATE_HOME: place },
        patience: 30,
      })
    const proxy = start()
    const main = await proxy.ready()
    await browse(await proxy.until(/(?<=^Open this URL to sign in: )\S+$/m))
    assert.equal((await send(main, call(1))).status, 200)
    const [, internal] = /health and metrics on (http:[^)]+)/.exec(proxy.output.stdout) ?? []
    const health = async () => (await send(String(internal), { path: '/readiness' })).body
    const directory = join(place, 'sallyport')

    // Again and again: a save under way may end, and free what its draft took.
    await eventually(() => {
      faults[fault].begin()
      return times(proxy.output.stderr, CANNOT) > 0
    }, 30)
    const before = keptTexts(directory)
    const { refreshes } = counts
    await eventually(async () => {
      const { status, body } = await send(main, call(1))
      assert.equal(status, 200, body)
      return counts.refreshes >= refreshes + 3
    }, 30)
    assert.equal(keptTexts(directory), before)
    assert.match(await health(), /cannot be saved \(E(?:NOSPC|ROFS)\)/)
    assert.deepEqual([times(proxy.output.stderr, CANNOT), times(proxy.output.stderr, AGAIN)], [1, 0])

    faults[fault].end()
    await eventually(() => times(proxy.output.stderr, AGAIN) === 1)
    assert.notEqual(keptTexts(directory), before)
    assert.doesNotMatch(await health(), /cannot be saved/)
    assert.equal((await send(main, call(1))).status, 200)
    proxy.process.kill('SIGTERM')
    assert.equal(await proxy.ended(), 0)

    // The newest session was saved: the issuer would refuse any other.
    const next = start()
    assert.equal((await send(await next.ready(), call(1))).status, 200)
    assert.deepEqual([counts.logins, counts.refused], [1, 0])
  })
}

test('values that cannot be saved are read, listed and deleted in memory, and saved when that works again', async (t) => {
  const directory = join(folder(t), 'state')
  const { store, lines } = await storing(t, [{ use: 'state/sqlite', with: { directory } }])
  await store.set('k/old', 'old')
  await store.set('k/gone', 'gone')
  const files = readdirSync(directory).map((name) => ({
    path: join(directory, name),
    text: readFileSync(join(directory, name), 'utf8'),
  }))
  rmSync(directory, { recursive: true })
  // Nothing can be created below a file, not even by root.
  writeFileSync(directory, '')

  await store.locked('k/old', () => store.set('k/old', 'new'))
  await assert.rejects(store.delete('k/gone'), { code: 'ENOTDIR' })
  assert.deepEqual([await store.get('k/old'), await store.get('k/gone')], ['new', undefined])
  const logged = (part: string) => lines.filter(({ msg }) => String(msg).includes(part)).length
  assert.deepEqual([logged(CANNOT), logged(AGAIN)], [1, 0])

  rmSync(directory)
  const { store: other } = await storing(t, [{ use: 'state/sqlite', with: { directory } }])
  for (const { path, text } of files) writeFileSync(path, text)
  await eventually(() => logged(AGAIN) === 1)
  assert.deepEqual([await other.get('k/old'), await other.keys('k/')], ['new', ['k/old']])
  assert.deepEqual([logged(CANNOT), existsSync(join(directory, 'locks'))], [1, true])
})

test('a value that another process has saved since is newer than a pending write', {
  skip: noDisk ?? false,
}, async (t) => {
  const { place } = smallDisk(t)
  const { store, lines } = await storing(t, [{ use: 'state/sqlite', with: { directory: place } }])
  const large = 'x'.repeat(300_000)
  await store.set('key', large)
  assert.equal(await store.get('key'), large)

  const { store: other } = await storing(t, [{ use: 'state/sqlite', with: { directory: place } }])
  assert.equal(await other.get('key'), undefined)
  await other.set('key', 'newer')
  assert.equal(await store.get('key'), 'newer')
  await eventually(() => lines.some(({ msg }) => msg === AGAIN))
  assert.equal(await other.get('key'), 'newer')
})

test('a value that could not be saved is there after a reload, and saved as soon as possible', {
  skip: noDisk ?? false,
}, async (t) => {
  const { place, faults } = smallDisk(t)
  const { use, stores } = takingStores()
  const list = [{ use: 'state/sqlite', with: { directory: place } }, { use }]
  const { log, lines } = recordedLog()
  const running = await serving(t, list, { log })
  await stores[0]?.set('key', 'old')
  faults.full.begin()
  await stores[0]?.set('key', 'new')

  await running.swap(list)
  assert.equal(await stores[1]?.get('key'), 'new')
  faults.full.end()
  await eventually(() => lines.some(({ msg }) => msg === AGAIN))
  const { store } = await storing(t, list.slice(0, 1))
  assert.equal(await store.get('key'), 'new')
})

test('after a write that failed, what is stored or deleted later is what counts', {
  skip: noDisk ?? false,
}, async (t) => {
  const { place, faults } = smallDisk(t)
  const { store } = await storing(t, [{ use: 'state/sqlite', with: { directory: place } }])
  for (const key of ['k/a', 'k/b']) await store.set(key, 'old')
  faults['read-only'].begin()
  for (const key of ['k/a', 'k/new']) await store.set(key, 'unsaved')
  await assert.rejects(store.delete('k/b'), { code: 'EROFS' })
  assert.deepEqual(await store.keys('k/'), ['k/a', 'k/new'])

  faults['read-only'].end()
  await store.set('k/a', 'old')
  await store.delete('k/new')

  assert.deepEqual([await store.get('k/a'), await store.get('k/new')], ['old', undefined])
})

test('a stop saves what could not be saved before', { skip: noDisk ?? false }, async (t) => {
  const { place, faults } = smallDisk(t)
  const { use, stores } = takingStores()
  const entry = { use: 'state/sqlite', with: { directory: place } }
  const running = await serving(t, [entry, { use }])
  faults.full.begin()
  await stores[0]?.set('key', 'unsaved')
  faults.full.end()

  await running.stop()

  assert.equal(await (await storing(t, [entry])).store.get('key'), 'unsaved')
})
