import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { type List, SecretStore } from 'sallyport'
import { folder } from '#kit/folder.js'
import { providing } from '#kit/plugin.js'
import { plant, sql, textIn, valuesIn } from './stored.js'
import { storing } from './storing.js'

type Options = Readonly<Record<string, unknown>>

const PASSPHRASE = { passphrase: 'open sesame' }

/** A secret store that keeps its values over several boots of a test. */
const secretStore = (stored: Map<string, string>) =>
  providing('secret-store', SecretStore, {
    name: 'secret-store',
    get: (name) => stored.get(name),
    keeping: {
      set: async (name, value) => void stored.set(name, value),
      delete: async (name) => stored.delete(name),
      names: async () => [...stored.keys()],
    },
  })

interface Place {
  readonly directory: string
  readonly open: (options?: Options) => ReturnType<typeof storing>
  readonly openPlain: () => ReturnType<typeof storing>
}

const KINDS: Readonly<Record<string, (t: TestContext) => Place>> = {
  'a passphrase': (t) => storeIn(t, [], PASSPHRASE),
  'a stored key': (t) => storeIn(t, [secretStore(new Map())], {}),
}

function storeIn(t: TestContext, before: List, fixed: Options): Place {
  const directory = folder(t)
  const openWith = (list: List, options: Options) =>
    storing(t, [...list, { use: 'state/sqlite', with: { directory, ...options } }])
  return {
    directory,
    open: (options = {}) => openWith(before, { ...fixed, ...options }),
    openPlain: () => openWith([], { keptKey: false }),
  }
}

const refused = { code: 'STATE_PLAIN', message: /auth seal.*auth logout all/ }

for (const [kind, place] of Object.entries(KINDS)) {
  test(`with ${kind}, a planted unencrypted login is refused, also in an emptied directory`, async (t) => {
    const { directory, open, openPlain } = place(t)
    await (await open()).store.set('mine', 'value')
    await (await openPlain()).store.set('key', 'planted')

    const { store } = await open()
    await assert.rejects(store.get('key'), refused)
    await assert.rejects(store.set('key', 'new'), refused)
    assert.equal(await store.get('mine'), 'value')

    sql(directory, 'delete from value')
    await (await openPlain()).store.set('key', 'planted')
    await assert.rejects(store.get('key'), refused)
    const next = await open()
    await assert.rejects(next.store.get('key'), refused)
    await assert.rejects(next.store.set('key', 'new'), refused)
    assert.equal(valuesIn(directory).find(({ key }) => key === 'key')?.value, 'planted')

    await next.store.delete('key')
    await next.store.set('key', 'new')
    assert.equal(await next.store.get('key'), 'new')
  })

  test(`with ${kind}, \`takeOver\` encrypts the values from before, without losing any`, async (t) => {
    const { directory, open, openPlain } = place(t)
    const before = await openPlain()
    for (const key of ['a', 'b', 'c']) await before.store.set(key, `canary-${key}`)
    await assert.rejects((await open()).store.get('a'), refused)

    const both = await Promise.all([open({ takeOver: true }), open({ takeOver: true })])
    assert.doesNotMatch(textIn(directory), /canary/)
    for (const { store } of [...both, await open()]) {
      for (const key of ['a', 'b', 'c']) assert.equal(await store.get(key), `canary-${key}`)
    }

    // Values that are planted later are still refused.
    await before.store.delete('a')
    await before.store.set('a', 'planted')
    await assert.rejects((await open()).store.get('a'), refused)
  })

  test(`with ${kind}, a login that is refreshed during \`takeOver\` keeps the newer value`, async (t) => {
    const { open, openPlain } = place(t)
    const before = await openPlain()
    await before.store.set('key', 'old')
    let taken = false
    let taking: Promise<unknown> | undefined
    await before.store.locked('key', async () => {
      taking = open({ takeOver: true }).then(() => {
        taken = true
      })
      await setTimeout(500)
      assert.equal(taken, false)
      await before.store.set('key', 'renewed')
    })
    await taking
    assert.equal(await (await open()).store.get('key'), 'renewed')
  })
}

test('without a key, `takeOver` stops the start, and no plain value is written next to encrypted ones', async (t) => {
  const directory = folder(t)
  const open = (options: Options = {}) =>
    storing(t, [{ use: 'state/sqlite', with: { directory, ...options } }])
  await (await open()).store.set('key', 'value')
  await assert.rejects(open({ takeOver: true }), /no key to encrypt with.*SALLYPORT_STATE_PASSPHRASE/)
  assert.equal(await (await open()).store.get('key'), 'value')

  await (await open(PASSPHRASE)).store.set('sealed', 'value')
  const { store } = await open()
  const expected = { code: 'STATE_SEALED', message: /give the passphrase/ }
  await assert.rejects(store.get('key'), expected)
  await assert.rejects(store.set('another', 'value'), expected)
  await assert.rejects(open({ takeOver: true }), /give the passphrase/)
  // Unless encryption is turned off.
  assert.equal(await (await open({ keptKey: false })).store.get('key'), 'value')
})

test('a value that is encrypted with another secret of the store is refused', async (t) => {
  const known = randomBytes(32)
  const stored = new Map([['github', known.toString('base64')]])
  const { directory, open } = storeIn(t, [secretStore(stored)], {})
  const { store } = await open()
  await store.set('key', 'value')
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', known, iv).setAAD(Buffer.from('key'))
  const data = Buffer.concat([cipher.update('planted'), cipher.final()]).toString('base64')
  const parts = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data }
  plant(directory, 'key', JSON.stringify({ kept: 'github', ...parts }), 1)
  await assert.rejects(store.get('key'), { code: 'STATE_SEALED' })

  // The stored name of the latest key cannot name that secret either.
  plant(directory, 'sealing/newest', 'github', 0)
  await (await open()).store.set('later', 'value')
  assert.doesNotMatch(valuesIn(directory).find(({ key }) => key === 'sealing/newest')?.value ?? '', /github/)
})

test('a truncated key is not used: its values are refused, and new values get another key', async (t) => {
  const stored = new Map<string, string>()
  const { open } = storeIn(t, [secretStore(stored)], {})
  await (await open()).store.set('key', 'value')
  for (const [name, key] of stored) stored.set(name, key.slice(4))

  const { store } = await open()
  await assert.rejects(store.get('key'), { code: 'STATE_SEALED' })
  await store.set('later', 'value')
  assert.equal(await store.get('later'), 'value')
})

test('a failing secret store causes no unencrypted value', async (t) => {
  const failing = providing('secret-store', SecretStore, {
    name: 'secret-store',
    get: () => undefined,
    keeping: {
      set: () => Promise.reject(new TypeError('a fault')),
      delete: async () => false,
      names: async () => [],
    },
  })
  const { directory, open } = storeIn(t, [failing], {})
  await assert.rejects((await open()).store.set('key', 'canary'), /a fault/)
  assert.deepEqual(valuesIn(directory), [])
})

test('no value that was written without the key is accepted', async (t) => {
  const { directory, open } = storeIn(t, [], PASSPHRASE)
  const { store } = await open()
  await store.set('key', 'value')
  const parts = JSON.parse(valuesIn(directory)[0]?.value ?? '')
  const field = fc.oneof(fc.string(), fc.constant(undefined), fc.base64String(), fc.constant(true))
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc
          .dictionary(fc.constantFrom('iv', 'tag', 'data', 'kept', 'salt'), field)
          .map((more) => JSON.stringify({ ...parts, ...more })),
        fc.string(),
      ),
      fc.integer({ min: 0, max: 2 }),
      async (value, sealed) => {
        plant(directory, 'key', value, sealed)
        const got = await store.get('key').catch(({ code }) => code)
        assert.ok(['value', 'STATE_PLAIN', 'STATE_SEALED'].includes(got), String(got))
      },
    ),
    { numRuns: 60 },
  )
})
