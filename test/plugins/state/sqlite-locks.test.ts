import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { SecretStore } from 'sallyport'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { folder } from '#kit/folder.js'
import { providing } from '#kit/plugin.js'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { proxyWithLogin, signInUser } from '../credential/oauth/proxy-with-login.js'
import { plant, valuesIn } from './stored.js'
import { storing } from './storing.js'

const inFolder = (t: TestContext, directory: string) =>
  storing(t, [{ use: 'state/sqlite', with: { directory } }])

function lockFile(directory: string, key: string): string {
  mkdirSync(join(directory, 'locks'), { recursive: true })
  return join(directory, 'locks', createHash('sha256').update(key).digest('hex').slice(0, 40))
}

/** Another process holds the lock, until it is released. */
function heldElsewhere(t: TestContext, file: string): () => void {
  writeFileSync(file, '')
  const holder = new DatabaseSync(file)
  holder.exec('begin immediate')
  const release = (): void => {
    if (holder.isOpen) holder.close()
  }
  t.after(release)
  return release
}

const isWaiting = ({ msg }: Readonly<Record<string, unknown>>): boolean =>
  /waiting for a lock/.test(String(msg))

test('work under a lock runs although another file blocks the lock file', async (t) => {
  const directory = folder(t)
  const { store, lines } = await inFolder(t, directory)
  mkdirSync(lockFile(directory, 'folder'))
  writeFileSync(lockFile(directory, 'text'), 'x'.repeat(5000))
  for (const key of ['folder', 'text']) await store.locked(key, () => store.set(key, 'value'))
  assert.deepEqual(await store.keys(''), ['folder', 'text'])
  assert.equal(lines.filter(({ msg }) => /values cannot be saved/.test(String(msg))).length, 1)
})

test('work that outlives its lock may write', async (t) => {
  const { store } = await inFolder(t, folder(t))
  let later = Promise.resolve()
  const { promise: released, resolve: release } = deferred()

  await store.locked('a', async () => {
    later = released.then(() => store.set('b', 'later'))
  })
  await store.locked('a', async () => {})
  release()
  await later

  assert.equal(await store.get('b'), 'later')
})

test('a store waits for the lock of another process, and logs its file once', async (t) => {
  const directory = folder(t)
  const { store, lines } = await inFolder(t, directory)
  const file = lockFile(directory, 'key')
  const release = heldElsewhere(t, file)
  let entered = false
  const waiting = store.locked('key', async () => {
    entered = true
  })
  const line = await eventually(() => lines.find(isWaiting))
  assert.deepEqual([line['level'], line['path'], entered], ['warn', file, false])
  release()
  await waiting
  assert.equal(lines.filter(isWaiting).length, 1)
})

test('a holder whose file was replaced blocks no other process, and deletes no lock of another', async (t) => {
  const path = join(folder(t), 'lock')
  const { log } = recordedLog()
  const first = new FileLock(path, log).tryAcquire()
  assert.equal(new FileLock(path, log).tryAcquire(), undefined)
  rmSync(path)
  const second = new FileLock(path, log).tryAcquire()
  assert.ok(first !== undefined && second !== undefined)
  first.release()
  assert.equal(new FileLock(path, log).tryAcquire(), undefined)
  second.release()
  assert.equal(existsSync(path), false)
})

test('one of many callers has a lock at a time, although each holder deletes its file', async (t) => {
  const path = join(folder(t), 'lock')
  const { log } = recordedLog()
  let holders = 0
  const work = async (): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      const held = await new FileLock(path, log).acquire()
      assert.equal(++holders, 1)
      await setTimeout(1)
      holders--
      held.release()
    }
  }
  await Promise.all([1, 2, 3, 4].map(work))
})

test('a start does not fail while another process holds the lock of the keys', async (t) => {
  const directory = folder(t)
  const secrets = new Map<string, string>()
  const secretStore = providing('secret-store', SecretStore, {
    name: 'secret-store',
    get: async (name) => secrets.get(name),
    keeping: {
      set: async (name: string, value: string) => void secrets.set(name, value),
      delete: async (name: string) => secrets.delete(name),
      names: async () => [...secrets.keys()],
    },
  })
  const registrars = [secretStore, { use: 'registrar/remembered' }, { use: 'registrar/dynamic' }]
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const first = await proxyWithLogin(t, server.target, { login: 'start' }, { directory, registrars })
  await eventually(() => valuesIn(directory).some(({ key }) => key.startsWith('oauth/session/')))
  await first.running.stop(0)

  // Unencrypted values, for which the key is looked up.
  for (const { key, sealed } of valuesIn(directory)) if (sealed === 1) plant(directory, key, '{}', 0)
  const release = heldElsewhere(t, lockFile(directory, 'sealing/newest'))
  const { lines } = await proxyWithLogin(
    t,
    server.target,
    {},
    { directory, registrars },
    { limits: { start: 15_000 } },
  )
  assert.ok(lines.some(isWaiting))
  release()
  await eventually(() => lines.some(({ msg }) => /could not be read/.test(String(msg))))
  assert.equal(urls.length, 1)
})
