import assert from 'node:assert/strict'
import { readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { capturedLog } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { folder } from '#kit/folder.js'
import { GenerationLock, HeldLocks } from '#plugins/store/files/generation-lock.js'
import { thisProcess } from '#plugins/store/files/lock-owner.js'

test('who was slow, and creates a file that others have deleted meanwhile, has no lock', async (t) => {
  const home = folder(t, {})
  const path = join(home, 'lock')
  const self = await thisProcess()
  const locks = new HeldLocks()
  const { promise: waiting, resolve: waits } = deferred()
  writeFileSync(`${path}.1`, JSON.stringify({ ...self, mark: 'of another' }))
  // Between the look at the last file and the next one: two others have the lock, one after the other.
  t.mock.method(locks, 'isOrphaned', (mark: string) => {
    if (mark === 'of a third') waits()
    if (mark !== 'of another') return false
    rmSync(`${path}.1`)
    writeFileSync(`${path}.3`, JSON.stringify({ ...self, mark: 'of a third' }))
    return true
  })

  const acquiring = new GenerationLock(path, self, locks, capturedLog().log).acquire()
  await Promise.race([acquiring, waiting])
  assert.deepEqual(readdirSync(home), ['lock.3'])
  writeFileSync(`${path}.3`, 'free')
  const lock = await acquiring
  assert.deepEqual(readdirSync(home), ['lock.4'])
  await lock.release()
})

test('an owner on another machine runs as long as it touches its file', async (t) => {
  const path = join(folder(t, {}), 'lock')
  const self = await thisProcess()
  const elsewhere = { ...self, where: 'elsewhere 0' }
  writeFileSync(`${path}.1`, JSON.stringify(elsewhere))
  const touching = setInterval(() => {
    const now = new Date()
    utimesSync(`${path}.1`, now, now)
  }, 20)
  t.after(() => clearInterval(touching))

  const lock = new GenerationLock(path, self, new HeldLocks(), capturedLog().log)
  const refused = lock.acquire(({ where }) => new Error(`held by ${where}`))
  const late = setTimeout(5_000, undefined, { ref: false }).then(() => assert.fail('it waits'))
  await assert.rejects(Promise.race([refused, late]), { message: 'held by elsewhere 0' })
})

test('a lock is lost when its file is gone, and not when its folder cannot be looked at', async (t) => {
  const home = folder(t, { 'locks/kept': '' })
  const path = join(home, 'locks', 'lock')
  const lock = await new GenerationLock(
    path,
    await thisProcess(),
    new HeldLocks(),
    capturedLog().log,
  ).acquire()
  await lock.check()

  renameSync(join(home, 'locks'), join(home, 'moved'))
  writeFileSync(join(home, 'locks'), '')
  await assert.rejects(lock.check(), { code: 'ENOTDIR' })
  rmSync(join(home, 'locks'))
  await assert.rejects(lock.check(), { message: /took its lock over/ })
  renameSync(join(home, 'moved'), join(home, 'locks'))
  await lock.check()
  await lock.release()
})
