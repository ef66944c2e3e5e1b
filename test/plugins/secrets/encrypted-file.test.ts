import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Entry, GatewayError } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { noDisk, smallDisk } from '#kit/small-disk.js'
import { storesOf } from './stores.js'

contractSuite('secrets/encrypted-file', (t) => {
  const home = folder(t, {})
  writeFileSync(join(home, 'passphrase'), 'correct horse battery staple', { mode: 0o600 })
  const settings = { path: join(home, 'secrets'), passphraseFile: join(home, 'passphrase') }
  return { list: [{ use: 'secrets/encrypted-file', with: settings }] }
})

const encryptedFile = (path: string, passphrase: string): Entry => ({
  use: 'secrets/encrypted-file',
  with: { path, passphrase },
})

test('an encrypted file keeps secrets over restarts, and its text holds neither names nor values', async (t) => {
  const path = join(folder(t), 'deep', 'secrets')
  const [first] = await storesOf(t, encryptedFile(path, 'correct horse'))
  assert.equal(await first?.get('none'), undefined)
  await first?.keeping?.set('github-token', 'ghp_value')
  await first?.keeping?.set('__proto__', 'odd')

  const [second] = await storesOf(t, encryptedFile(path, 'correct horse'))
  assert.equal(await second?.get('github-token'), 'ghp_value')
  assert.equal(await second?.get('toString'), undefined)
  assert.deepEqual(await second?.keeping?.delete('none'), false)
  assert.equal(await second?.keeping?.delete('github-token'), true)
  assert.equal(await second?.get('github-token'), undefined)

  const text = readFileSync(path, 'utf8')
  assert.doesNotMatch(text, /github|ghp_value/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a wrong passphrase, a changed byte and another file are errors, and not an empty store', async (t) => {
  const path = join(folder(t), 'secrets')
  const [store] = await storesOf(t, encryptedFile(path, 'correct horse'))
  await store?.keeping?.set('name', 'value')
  const good = JSON.parse(readFileSync(path, 'utf8'))

  const [otherPassphrase] = await storesOf(t, encryptedFile(path, 'wrong'))
  await assert.rejects(async () => otherPassphrase?.get('name'), GatewayError)
  await assert.rejects(async () => otherPassphrase?.keeping?.set('name', 'other'), GatewayError)
  for (const field of ['salt', 'iv', 'tag', 'data']) {
    const bytes = Buffer.from(good[field], 'base64')
    bytes[0] = (bytes[0] ?? 0) ^ 1
    writeFileSync(path, JSON.stringify({ ...good, [field]: bytes.toString('base64') }))
    await assert.rejects(async () => store?.get('name'), { code: 'SECRETS_SEALED' }, field)
  }
  const shortTag = Buffer.from(good.tag, 'base64').subarray(0, 4).toString('base64')
  for (const broken of [
    '',
    '{}',
    JSON.stringify({ ...good, cost: 2 ** 30 }),
    JSON.stringify({ ...good, tag: '' }),
    JSON.stringify({ ...good, tag: shortTag }),
  ]) {
    writeFileSync(path, broken)
    await assert.rejects(async () => store?.get('name'), GatewayError)
  }
})

test('a file that cannot be read or written says why', { skip: noDisk ?? false }, async (t) => {
  const { mountPoint, faults } = smallDisk(t)
  const [store] = await storesOf(t, encryptedFile(join(mountPoint, 'secrets'), 'correct horse'))
  await store?.keeping?.set('name', 'value')
  for (const [fault, reason] of [
    [faults.full, /: the disk is full \(ENOSPC\)$/],
    [faults['read-only'], /: the disk is read-only \(EROFS\)$/],
  ] as const) {
    fault.begin()
    await assert.rejects(async () => store?.keeping?.set('name', 'other'), { message: reason })
    assert.equal(await store?.get('name'), 'value')
    fault.end()
  }
  await store?.keeping?.set('name', 'other')
  assert.equal(await store?.get('name'), 'other')
  const [noFile] = await storesOf(t, encryptedFile(mountPoint, 'correct horse'))
  await assert.rejects(async () => noFile?.get('name'), { message: /: it is a folder \(EISDIR\)$/ })
})

test('a missing passphrase is an error only when the file exists', async (t) => {
  const path = join(folder(t), 'secrets')
  const [store] = await storesOf(t, { use: 'secrets/encrypted-file', with: { path } })
  assert.equal(await store?.get('name'), undefined)
  writeFileSync(path, '{}')
  await assert.rejects(async () => store?.get('name'), { code: 'PASSPHRASE_MISSING' })
})

test('secrets that several processes store at once are all kept, and a deleted one is gone', async (t) => {
  const path = join(folder(t), 'secrets')
  const entry = encryptedFile(path, 'correct horse')
  const stores = await Promise.all([1, 2, 3].map(async () => (await storesOf(t, entry))[0]))
  await stores[0]?.keeping?.set('old', 'value')

  await Promise.all([
    ...stores.map((store, index) => store?.keeping?.set(`name-${index}`, 'value')),
    stores[0]?.keeping?.delete('old'),
  ])
  assert.deepEqual(await stores[0]?.keeping?.names(), ['name-0', 'name-1', 'name-2'])
})

test('a pipe instead of the file is refused at once', {
  skip: process.platform === 'win32',
}, async (t) => {
  const path = join(folder(t, {}), 'secrets')
  spawnSync('mkfifo', [path])
  const [store] = await storesOf(t, encryptedFile(path, 'correct horse'))

  await assert.rejects(async () => store?.get('name'), { message: /no file \(ERR_NO_FILE\)$/ })
})
