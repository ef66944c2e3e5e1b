import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test'
import { SecretStore } from 'sallyport'
import { folder } from '#kit/folder.js'
import { keyring, noKeyring, type TestKeyring } from '#kit/keyring.js'
import { providing } from '#kit/plugin.js'
import { plant, textIn } from './stored.js'
import { storing } from './storing.js'

type Options = Readonly<Record<string, unknown>>

const withKeyring = (t: TestContext, directory: string, options: Options = {}) =>
  storing(t, [{ use: 'secrets/keyring' }, { use: 'state/sqlite', with: { directory, ...options } }])

const without = (t: TestContext, directory: string, options: Options = {}) =>
  storing(t, [{ use: 'state/sqlite', with: { directory, ...options } }])

suite('with a keyring', { skip: noKeyring ?? false }, () => {
  const home = mkdtempSync(join(tmpdir(), 'sallyport-keyring-'))
  let testKeyring: TestKeyring
  // One for all tests: a process connects to its keyring once.
  before(async () => {
    testKeyring = await keyring(home)
    Object.assign(process.env, testKeyring.environment)
  })
  beforeEach(() => {
    for (const name of testKeyring.entries().keys()) testKeyring.remove(name)
  })
  after(async () => {
    await testKeyring.close()
    rmSync(home, { recursive: true, force: true })
  })

  test('values are encrypted, and the next start reads them', async (t) => {
    const directory = folder(t)
    const first = await withKeyring(t, directory)
    await first.store.set('key', 'canary-value')
    await first.store.set('other', 'canary-value')

    assert.doesNotMatch(textIn(directory), /canary/)
    const [[name = '', key = ''] = [], ...more] = testKeyring.entries()
    assert.match(name, /^state\//)
    assert.deepEqual(more, [])
    assert.ok(key.length > 40 && !textIn(directory).includes(key))
    const second = await withKeyring(t, directory)
    assert.equal(await second.store.get('key'), 'canary-value')
    assert.equal(await second.store.get('other'), 'canary-value')
    await second.store.set('key', 'later')
    assert.equal(testKeyring.entries().size, 1)
  })

  test('concurrent first writes create one key', async (t) => {
    const directory = folder(t)
    const stores = await Promise.all(Array.from({ length: 10 }, () => withKeyring(t, directory)))
    await Promise.all(stores.map(({ store }, at) => store.set(`key ${at}`, `value ${at}`)))

    assert.equal(testKeyring.entries().size, 1)
    const { store } = await withKeyring(t, directory)
    for (const at of stores.keys()) assert.equal(await store.get(`key ${at}`), `value ${at}`)
  })

  test('values from before there was a keyring are refused until `takeOver` encrypts them', async (t) => {
    const directory = folder(t)
    await (await without(t, directory)).store.set('key', 'canary-value')
    const refused = await withKeyring(t, directory)
    await assert.rejects(refused.store.get('key'), { code: 'STATE_PLAIN' })
    assert.match(textIn(directory), /canary-value/)

    const { store } = await withKeyring(t, directory, { takeOver: true })
    assert.doesNotMatch(textIn(directory), /canary/)
    assert.equal(await store.get('key'), 'canary-value')
    assert.equal(await refused.store.get('key'), 'canary-value')
  })

  test('a passphrase wins over the keyring, and values that are encrypted with it need no keyring', async (t) => {
    const directory = folder(t)
    const passphrase = { passphrase: 'open sesame' }
    await (await withKeyring(t, directory)).store.set('key', 'by the keyring')
    const { store } = await withKeyring(t, directory, passphrase)
    assert.equal(await store.get('key'), 'by the keyring')
    await store.set('key', 'by the passphrase')
    assert.equal(await (await without(t, directory, passphrase)).store.get('key'), 'by the passphrase')
  })

  test('with `keptKey: false` no key is created, and values that are encrypted with one are still read', async (t) => {
    const directory = folder(t)
    await (await withKeyring(t, directory)).store.set('key', 'closed')
    const { store } = await withKeyring(t, directory, { keptKey: false })
    assert.equal(await store.get('key'), 'closed')
    await store.set('key', 'open')
    assert.match(textIn(directory), /"value":"open"/)
  })

  const losses: Readonly<Record<string, () => unknown>> = {
    'a keyring that has lost the key': () =>
      [...testKeyring.entries().keys()].map((name) => testKeyring.remove(name)),
    // The last test, since it stays locked.
    'a keyring that is locked': () => testKeyring.lock(),
  }
  for (const [what, lose] of Object.entries(losses)) {
    test(`${what} is an error that says what to do, and encrypted values are not overwritten`, async (t) => {
      const directory = folder(t)
      await (await withKeyring(t, directory)).store.set('key', 'value')
      const kept = textIn(directory)
      lose()

      for (const options of [{}, { keptKey: false }, { passphrase: 'open sesame' }]) {
        const { store } = await withKeyring(t, directory, options)
        const expected = { code: 'STATE_SEALED', message: /keyring.*(?:available|back).*auth logout all/ }
        await assert.rejects(store.get('key'), expected)
        await assert.rejects(store.set('key', 'new'), expected)
        assert.equal(textIn(directory), kept)
      }
      const { store, lines } = await withKeyring(t, directory)
      if (what.includes('locked')) {
        await assert.rejects(store.set('another', 'canary-value'), {
          code: 'STATE_SEALED',
          message: /auth logout all/,
        })
        assert.equal(textIn(directory), kept)
      }
      await store.delete('key')
      await store.set('key', 'new')
      await store.set('key', 'newer')
      assert.equal(await store.get('key'), 'newer')
      const logged = lines.filter(({ msg }) => /are not encrypted/.test(String(msg)))
      assert.equal(logged.length, what.includes('locked') ? 1 : 0)
    })
  }
})

test('a key that its store does not keep encrypts nothing', async (t) => {
  const directory = folder(t)
  const forgetful = providing('secrets/forgetful', SecretStore, {
    name: 'forgetful store',
    get: () => undefined,
    keeping: { set: async () => {}, names: async () => [], delete: async () => false },
  })
  const started = () => storing(t, [forgetful, { use: 'state/sqlite', with: { directory } }])
  await (await started()).store.set('key', 'value')
  assert.equal(await (await started()).store.get('key'), 'value')
})

test('without a keyring in the list, the error says what decrypts the values', async (t) => {
  const directory = folder(t)
  const { store } = await without(t, directory)
  await store.set('key', 'value')
  plant(directory, 'key', JSON.stringify({ kept: 'state/gone', iv: '', tag: '', data: '' }), 1)
  await assert.rejects(store.get('key'), { code: 'STATE_SEALED', message: /secrets\/keyring/ })
})
