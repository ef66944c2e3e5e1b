import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { StateStore } from 'sallyport'
import { eventually } from '#kit/captured-log.js'
import { providing } from '#kit/plugin.js'
import { call, proxied, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { signInUser } from './proxy-with-login.js'

/** A store that writes late, and releases its locks late. */
function slowStore(values: Map<string, string>) {
  const turns = new Map<string, Promise<unknown>>()
  return providing('state/slow', StateStore, {
    get: async (key) => values.get(key),
    async set(key, value) {
      await setTimeout(100)
      values.set(key, value)
    },
    delete: async (key) => void values.delete(key),
    take: async (key) => {
      const value = values.get(key)
      values.delete(key)
      return value
    },
    keys: async () => [...values.keys()],
    locked(key, work) {
      const own = (turns.get(key) ?? Promise.resolve()).then(work)
      const turn = own.then(
        () => setTimeout(300),
        () => {},
      )
      turns.set(key, turn)
      return Promise.all([own, turn]).then(([result]) => result)
    },
  })
}

async function slowLogin(t: TestContext, life = 3600) {
  const server = await startAuthorizationServer(t)
  server.life = life
  const values = new Map<string, string>()
  const { urls } = signInUser(t)
  const { main, lines } = await proxied(t, server.target, {}, [
    slowStore(values),
    { use: 'registrar/dynamic' },
    {
      use: 'credential/oauth',
      with: { target: server.target, login: 'start', openBrowser: false, callbackPort: 0 },
    },
  ])
  /** The refresh token of the stored session, unless that is being refreshed. */
  const stored = () => {
    const text = [...values].find(([key]) => key.startsWith('oauth/session/'))?.[1]
    const { renewing, tokens } = JSON.parse(text ?? '{}')
    return renewing === undefined ? tokens?.refreshToken : undefined
  }
  const signedIn = () => lines.some(({ msg }) => msg === 'signed in to the target')
  return { server, urls, main, signedIn, stored }
}

test('requests that arrive while a login is being stored use its token, and do not refresh it', async (t) => {
  const { server, urls, main } = await slowLogin(t)
  const answers: Promise<number>[] = []
  while (answers.length < 60) {
    answers.push(send(main, call(answers.length)).then(({ status }) => status))
    await setTimeout(20)
  }
  assert.deepEqual([...new Set(await Promise.all(answers))], [200])
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 0])
})

test('a token that is refused while its session is still being stored is refreshed, without another login (CL-22)', async (t) => {
  const { server, urls, main, signedIn } = await slowLogin(t)
  await eventually(() => signedIn() || undefined)
  assert.equal((await send(main, call(1))).status, 200)
  server.revokeTokens()
  assert.equal((await send(main, call(2))).status, 200)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 1])
})

test('a token that is refused while its refresh still has the lock is refreshed, without another login (CL-22)', async (t) => {
  const { server, urls, main, stored } = await slowLogin(t, 4)
  const first = await eventually(() => stored())
  await eventually(() => ![undefined, first].includes(stored()))
  server.revokeTokens()
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 2])
})
