import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { StateStore } from 'sallyport'
import { PAGE, Person } from '#kit/person.js'
import { providing } from '#kit/plugin.js'
import { twoClocks } from '#kit/two-clocks.js'
import { signInRegistry } from './sign-in-registry.js'

const DAY = 24 * 3_600_000

/** A registry at an issuer that revokes nothing, somebody who signed in there and out, and the cookie from before. */
async function signedOut(t: TestContext, wanted: Parameters<typeof signInRegistry>[1] = {}) {
  const registry = await signInRegistry(t, { people: { refreshes: true }, ...wanted })
  const { origin, issuer } = registry
  issuer.responses.set('/token/revocation', (_request, response) => response.end())
  const person = new Person()
  await person.signIn(`${origin}/registry/open`)
  const cookie = [...person.cookies(origin)].map(([name, value]) => `${name}=${value}`).join('; ')
  const status = async (at = origin): Promise<number> =>
    (await fetch(`${at}/registry/default`, { headers: { ...PAGE, cookie } })).status
  assert.equal(await status(), 200)
  const signOut = () => person.ask(`${origin}/sign-out`, { method: 'POST', headers: { origin } })
  return { ...registry, status, signOut }
}

/** A state store of all replicas, which fails while it is away. */
function sharedState() {
  const values = new Map<string, string>()
  const written: { readonly key: string; readonly expiresAt: number | undefined }[] = []
  let isAway = false
  const reached = (): void => {
    if (isAway) throw new Error('the store is away')
  }
  const store: StateStore = {
    async get(key) {
      reached()
      return values.get(key)
    },
    async set(key, value, { expiresAt } = {}) {
      reached()
      written.push({ key, expiresAt })
      values.set(key, value)
    },
    take: async () => assert.fail(),
    delete: async () => assert.fail(),
    keys: async () => assert.fail(),
    locked: () => assert.fail(),
  }
  const away = (is: boolean): void => {
    isAway = is
  }
  return { entry: providing('shared-state', StateStore, store), written, away }
}

test('a copied cookie opens nothing after the sign-out, as long as it could be renewed', async (t) => {
  const clock = twoClocks(t)
  const { status, signOut } = await signedOut(t)
  await signOut()
  assert.equal(await status(), 401)
  for (const later of [61_000, 3_600_000, 29 * DAY]) {
    clock.passed(later)
    assert.equal(await status(), 401, `${later / 1000} s later`)
  }
})

test('a copied cookie without a refresh token opens nothing after the sign-out either', async (t) => {
  const { status, signOut } = await signedOut(t, { people: { refreshes: false } })
  await signOut()
  assert.equal(await status(), 401)
})

test('with a state store a sign-out holds at all replicas, and for as long as a cookie', async (t) => {
  const shared = sharedState()
  const { status, signOut, replica } = await signedOut(t, { plugins: [shared.entry] })
  const other = await replica()
  assert.equal(await status(other), 200)
  await signOut()
  assert.deepEqual([await status(other), await status()], [401, 401])
  assert.equal(shared.written.length, 1)
  const lasts = Number(shared.written[0]?.expiresAt) - Date.now()
  assert.ok(lasts > 30 * DAY - 5_000 && lasts < 31 * DAY, `${lasts} ms`)
})

test('no session is accepted while the store cannot say whether it has ended', async (t) => {
  const shared = sharedState()
  const { status, signOut, lines, replica } = await signedOut(t, { plugins: [shared.entry] })
  const other = await replica()
  shared.away(true)
  assert.equal(await status(), 503)
  assert.equal((await signOut()).status, 303)
  assert.match(JSON.stringify(lines), /a sign-out could not be stored/)
  assert.equal(await status(), 401, 'this process knows it')
  assert.equal(await status(other), 503)
})
