import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { OAuthOptions } from '#plugins/credential/oauth/options.js'
import { type Session, SessionStore } from '#plugins/credential/oauth/session.js'
import { SessionSaver } from '#plugins/credential/oauth/session-saver.js'
import { SharedStore } from './shared-store.js'

const TARGET = 'https://target.example/mcp'

const session = (name: string, obtainedAt: number): Session => ({
  format: 1,
  target: TARGET,
  server: { issuer: 'https://idp.example' },
  client: { issuer: 'https://idp.example', clientId: 'me' },
  scopes: [],
  tokens: { accessToken: `access ${name}`, refreshToken: name },
  obtainedAt,
})

const [FIRST, SECOND, OTHER] = [session('first', 1_000), session('second', 2_000), session('other', 1_500)]

function saving(t: TestContext, onRead?: () => unknown) {
  const { log } = recordedLog()
  const store = new SharedStore()
  const options = OAuthOptions.parse({ target: TARGET })
  const sessionsOf = (replica = store.replica()) => new SessionStore(options, () => replica, log)
  const sessions = sessionsOf(store.replica(onRead))
  const other = sessionsOf()
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const adopted: Session[] = []
  const adopt = (each: Session): void => void adopted.push(each)
  const saver = new SessionSaver({ sessions, log, stopping: stopping.signal, adopt })
  /** A refresh of the first session, whose lock is lost before it is saved. */
  const refresh = () =>
    sessions.locked(async () => {
      await sessions.write({ ...FIRST, renewing: 1_900 })
      store.loseLocks()
      await saver.save(SECOND, FIRST)
    })
  const stored = async () => (await other.read())?.tokens.refreshToken
  return { store, saver, sessions, other, stopping, adopted, refresh, stored }
}

test('a session that could not be stored is stored afterwards, under the lock', async (t) => {
  const { refresh, stored, adopted } = saving(t)
  await refresh()
  assert.equal(await stored(), 'first')
  await eventually(async () => (await stored()) === 'second')
  assert.deepEqual(adopted, [])
})

test('a session that another process stored meanwhile is adopted at any time of its clock', async (t) => {
  const { refresh, other, stored, adopted } = saving(t)
  await refresh()
  await other.locked(() => other.write(OTHER))
  await eventually(() => adopted.length > 0)
  assert.deepEqual([adopted[0]?.tokens.refreshToken, await stored()], ['other', 'other'])
})

test('a session that another process could no longer refresh does not count as newer', async (t) => {
  const { refresh, other, stored, adopted } = saving(t)
  await refresh()
  await other.locked(() => other.write({ ...FIRST, tokens: { accessToken: FIRST.tokens.accessToken } }))
  await eventually(async () => (await stored()) === 'second')
  assert.deepEqual(adopted, [])
})

test('a retry does not overwrite a session that another process stores at that moment', async (t) => {
  let writing: Promise<string> | undefined
  const read = async (): Promise<void> => {
    if (writing !== undefined) return
    const refreshElsewhere = other.locked(async () => {
      const tokens = (await other.read())?.tokens
      if (tokens?.refreshToken === 'first') await other.write(OTHER)
      return tokens?.refreshToken === 'first' ? 'other' : 'second'
    })
    writing = refreshElsewhere
    // The other process goes first, unless it has to wait for the lock.
    if (!store.isLocked(other.key)) await refreshElsewhere
    else await Promise.race([refreshElsewhere, new Promise((resolve) => void setTimeout(resolve, 50))])
  }
  const { refresh, other, store, stored } = saving(t, read)
  await refresh()
  const expected = await (await eventually(() => writing && { writing })).writing
  await eventually(async () => (await stored()) === expected)
  await new Promise((resolve) => void setTimeout(resolve, 50))
  assert.equal(await stored(), expected)
})

test('a stop tries to store the session once more, for two seconds at most', async (t) => {
  const { refresh, stored, saver, stopping, other } = saving(t)
  await refresh()
  stopping.abort()
  let release = (): void => {}
  const holding = other.locked(
    () =>
      new Promise<void>((resolve) => {
        release = resolve
      }),
  )
  await saver.stop()
  assert.equal(await stored(), 'first')
  release()
  await holding
  await saver.stop()
  assert.equal(await stored(), 'second')
})

test('a stored session counts as newer, unless it is in use or the unsaved session replaces it', async (t) => {
  const { refresh, saver } = saving(t)
  assert.ok(saver.isNewer(FIRST, undefined))
  assert.ok(saver.isNewer(OTHER, FIRST))
  assert.ok(!saver.isNewer({ ...FIRST, renewing: 1_900 }, FIRST))
  await refresh()
  assert.ok(!saver.isNewer(FIRST, SECOND))
  assert.ok(saver.isNewer(OTHER, SECOND))
  assert.ok(saver.isNewer(FIRST, OTHER), 'another session than the unsaved one is used')
})

test('a login that could not be stored replaces a session that another process refreshed before', async (t) => {
  let reads = 0
  const { other, saver, store, stored, adopted } = saving(t, () => {
    if (reads++ === 0) store.loseLocks()
  })
  await other.write(OTHER)
  await saver.saveLogin(SECOND, () => adopted.at(-1) ?? FIRST)
  assert.equal(await stored(), 'other')
  await eventually(async () => (await stored()) === 'second')
  assert.equal(adopted.at(-1), SECOND)
})

test('after a stop there is no further attempt, and a stop without an unsaved session takes no lock', async (t) => {
  let reads = 0
  const { refresh, saver, stopping, store, other } = saving(t, () => {
    reads++
    store.loseLocks()
  })
  const began = performance.now()
  await other.locked(() => saver.stop())
  assert.ok(performance.now() - began < 1_500)
  await refresh()
  stopping.abort()
  await saver.stop()
  assert.equal(reads, 1)
  await new Promise((resolve) => void setTimeout(resolve, 600))
  assert.equal(reads, 1)
})
