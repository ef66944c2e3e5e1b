import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { SecretStore } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { folder } from '#kit/folder.js'
import { providing } from '#kit/plugin.js'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { proxyWithLogin, signInUser } from '../credential/oauth/proxy-with-login.js'
import { storing } from './storing.js'

const inFiles = (t: TestContext, directory: string) =>
  storing(t, [{ use: 'state/sqlite', with: { directory } }])

const lockFile = (directory: string, key: string): string => {
  mkdirSync(join(directory, 'locks'), { recursive: true })
  return join(directory, 'locks', `${createHash('sha256').update(key).digest('hex').slice(0, 40)}.1`)
}

/** A process of another machine holds the lock, until it is released. */
function heldElsewhere(t: TestContext, file: string) {
  writeFileSync(file, JSON.stringify({ pid: 1, where: 'another-machine boot pid:[1]', started: '1' }))
  const beat = setInterval(() => {
    const now = new Date()
    utimesSync(file, now, now)
  }, 1000)
  t.after(() => clearInterval(beat))
  return () => {
    clearInterval(beat)
    writeFileSync(file, 'free')
  }
}

test('a lock file without an owner is free, whatever its content', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  const half = JSON.stringify({ pid: process.pid, where: 'here', started: '1' })
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc.nat(half.length - 1).map((length) => Buffer.from(half.slice(0, length))),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .constantFrom('', 'free', 'null', '{}', '{"pid":0,"where":"","started":""}')
      .map((text) => Buffer.from(text)),
  )
  let runs = 0
  await fc.assert(
    fc.asyncProperty(bytes, async (content) => {
      const key = `key-${runs++}`
      writeFileSync(lockFile(directory, key), content)
      const since = performance.now()
      await store.locked(key, async () => {})
      assert.ok(performance.now() - since < 1000)
    }),
    { numRuns: 150 },
  )
})

test('a directory in place of a lock file is a free lock, and so is a file with a huge number', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  mkdirSync(lockFile(directory, 'folder'))
  writeFileSync(lockFile(directory, 'number').replace(/1$/, '9'.repeat(30)), 'free')
  const since = performance.now()
  for (const key of ['folder', 'number']) await store.locked(key, async () => {})
  assert.ok(performance.now() - since < 1000)
})

test('a lock that could not be released is free for this process', async (t) => {
  const directory = folder(t)
  const { store } = await inFiles(t, directory)
  let text = ''
  await store.locked('key', async () => {
    text = readFileSync(lockFile(directory, 'key'), 'utf8')
  })
  writeFileSync(lockFile(directory, 'key'), text)
  const since = performance.now()
  await store.locked('key', async () => {})
  assert.ok(performance.now() - since < 1000)
})

test('what is written under a lock that another process took over is refused', async (t) => {
  const directory = folder(t)
  const [{ store }, { store: other }] = [await inFiles(t, directory), await inFiles(t, directory)]
  await store.set('key', 'old')
  /** As when this process stood still for long. */
  const takeOver = async (key: string) => {
    const file = lockFile(directory, key)
    renameSync(file, file.replace(/1$/, '2'))
    writeFileSync(file.replace(/1$/, '2'), 'free')
    await other.locked(key, () => other.set('key', 'new'))
  }

  const late = { code: 'STATE_LOCK_LOST', statusCode: 503 }
  await store.locked('a', async () => {
    await takeOver('a')
    await assert.rejects(store.set('key', 'late'), late)
    await assert.rejects(
      store.locked('b', () => store.delete('key')),
      late,
    )
  })
  assert.equal(await store.get('key'), 'new')
  await store.locked('a', () => store.set('key', 'newer'))
  assert.equal(await other.get('key'), 'newer')
})

test('what a work leaves behind is no longer under its lock', async (t) => {
  const { store } = await inFiles(t, folder(t))
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

test('a lock of another machine is waited for, and its file is logged', async (t) => {
  const directory = folder(t)
  const { store, lines } = await inFiles(t, directory)
  const file = lockFile(directory, 'key')
  const release = heldElsewhere(t, file)
  let entered = false
  const waiting = store.locked('key', async () => {
    entered = true
  })
  const line = await eventually(() => lines.find(({ msg }) => /waiting for a lock/.test(String(msg))))
  assert.deepEqual([line['level'], line['path'], entered], ['warn', file, false])
  release()
  await waiting
  assert.equal(lines.filter(({ msg }) => /waiting for a lock/.test(String(msg))).length, 1)
})

test('a start does not fail while another machine holds the lock of the keys', async (t) => {
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
  await eventually(() =>
    readdirSync(directory).some(
      (name) =>
        name.endsWith('.json') && readFileSync(join(directory, name), 'utf8').includes('"oauth/session/'),
    ),
  )
  await first.running.stop(0)

  // Unencrypted values, for which the key is looked up.
  for (const name of readdirSync(directory).filter((each) => each.endsWith('.json'))) {
    const path = join(directory, name)
    const kept = JSON.parse(readFileSync(path, 'utf8'))
    if (kept.sealed === true) writeFileSync(path, JSON.stringify({ format: 1, key: kept.key, value: '{}' }))
  }
  rmSync(join(directory, 'locks'), { recursive: true })
  const release = heldElsewhere(t, lockFile(directory, 'sealing/newest'))
  const { lines } = await proxyWithLogin(
    t,
    server.target,
    {},
    { directory, registrars },
    { limits: { start: 15_000 } },
  )
  assert.ok(lines.some(({ msg }) => /waiting for a lock/.test(String(msg))))
  release()
  await eventually(() => lines.some(({ msg }) => /could not be read/.test(String(msg))))
  assert.equal(urls.length, 1)
})
