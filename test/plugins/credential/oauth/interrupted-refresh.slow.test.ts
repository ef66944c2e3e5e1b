import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { startedProgram } from '#kit/started-program.js'
import { textOf } from '#plugins/store/bytes.js'
import { call, send } from '../../forward/proxied.js'
import { valuesIn } from '../../state/stored.js'
import { type AuthorizationServer, sendJson, startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'
import { browse, realLogin } from './real-provider.js'

/** The session that is stored in a directory. */
function storedSession(directory: string) {
  const session = valuesIn(directory).find(({ key }) => key.startsWith('oauth/session/'))
  const { tokens, renewing } = JSON.parse(textOf(Buffer.from(session?.value ?? '{}')))
  return { refreshToken: String(tokens.refreshToken), renewing: Number(renewing) }
}

/** A proxy in its own process that signs in, and is killed when it would store the tokens of its first refresh. */
async function killedAtRefresh(t: TestContext, target: string, signIn: (page: string) => Promise<unknown>) {
  const state = folder(t)
  const directory = join(state, 'sallyport')
  const armed = join(folder(t), 'armed')
  const environment = {
    XDG_STATE_HOME: state,
    NODE_OPTIONS: `--import=${import.meta.resolve('../../../kit/kill-at-write.mjs')}`,
    KILL_ONCE_THERE: armed,
  }
  const flags = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0']
  const proxy = startedProgram(t, ['proxy', 'mine', `--target-uri=${target}`, ...flags], {
    environment,
    patience: 30,
  })
  const ended = once(proxy.process, 'exit')
  const main = await proxy.ready()
  await signIn(await proxy.until(/(?<=^Open this URL to sign in: )\S+$/m))
  assert.equal((await send(main, call(1))).status, 200)
  return {
    directory,
    main,
    /** To be called when the issuer has granted the refresh, before it responds. */
    arm: () => writeFileSync(armed, ''),
    async killed() {
      assert.deepEqual(await ended, [null, 'SIGKILL'])
      return storedSession(directory)
    },
  }
}

async function interruptedRefresh(t: TestContext, server: AuthorizationServer) {
  const proxy = await killedAtRefresh(t, server.target, (page) => fetch(page))
  server.onRefresh = proxy.arm
  server.revokeTokens()
  const request = send(proxy.main, call(2)).catch(() => {})
  const { renewing } = await proxy.killed()
  await request
  assert.ok(renewing > 0)
  server.onRefresh = undefined
  assert.equal(server.grantsOf('refresh_token'), 1)
  return proxy.directory
}

const next = (t: TestContext, target: string, directory: string) =>
  proxyWithLogin(t, target, { login: 'start' }, { directory })

/** Sends requests until then, none of which fails: the token from before the kill may last a little longer. */
const requestUntil = (main: string, done: () => boolean) =>
  eventually(async () => {
    const answers = await Promise.all([1, 2, 3].map((id) => send(main, call(id))))
    const failed = answers.filter(({ status }) => status !== 200).map(({ body }) => body)
    assert.deepEqual(failed, [])
    return done() || undefined
  })

test('a kill before the refreshed tokens are stored: the next start refreshes at once at an issuer that repeats its response, without a login (T15)', async (t) => {
  const server = await startAuthorizationServer(t)
  server.repeatsRefresh = true
  const directory = await interruptedRefresh(t, server)
  const { urls } = signInUser(t)
  const { main, lines } = await next(t, server.target, directory)
  // Without any request, and before the token expires.
  await eventually(() => server.grantsOf('refresh_token') === 2 || undefined)
  assert.equal((await send(main, call(1))).status, 200)
  assert.deepEqual([urls.length, server.times('/authorize')], [0, 1])
  assert.doesNotMatch(JSON.stringify(lines), /interrupted/)
  assert.ok(Number.isNaN(storedSession(directory).renewing))
})

test('a kill before the refreshed tokens are stored: with an issuer that does not repeat its response, the log says so and one login follows (T15)', async (t) => {
  const server = await startAuthorizationServer(t)
  const directory = await interruptedRefresh(t, server)
  const { urls } = signInUser(t)
  const { main, lines } = await next(t, server.target, directory)
  await requestUntil(main, () => urls.length > 0)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 2])
  const logged = lines.filter(({ msg }) => /interrupted before its tokens were stored/.test(String(msg)))
  assert.equal(logged.length, 1)
})

test('a kill before the refreshed tokens are stored: oidc-provider ends the session, and one login follows (T15)', async (t) => {
  const tokens = { life: 3 }
  const { target, counts, onGrant } = await realLogin(t, tokens)
  const proxy = await killedAtRefresh(t, target, browse)
  onGrant(proxy.arm)
  await proxy.killed()
  tokens.life = 3600
  const { urls } = signInUser(t, browse)
  const { main, lines } = await next(t, target, proxy.directory)
  await requestUntil(main, () => urls.length > 0)
  assert.deepEqual([urls.length, counts.logins], [1, 2])
  assert.match(JSON.stringify(lines), /interrupted before its tokens were stored/)
})

test('a stop in the middle of a refresh stores its tokens first (T15)', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  server.life = 3
  const { urls } = signInUser(t)
  const first = await proxyWithLogin(t, server.target, { login: 'start' }, { directory })
  assert.equal((await send(first.main, call(1))).status, 200)
  const { refreshToken } = storedSession(directory)

  let answer = (): void => {}
  const sent = new Promise<void>((begun) => {
    server.onRefresh = () => {
      begun()
      return new Promise<void>((resolve) => {
        answer = resolve
      })
    }
  })
  await sent
  const stopped = first.running.stop(0)
  answer()
  await stopped
  assert.notEqual(storedSession(directory).refreshToken, refreshToken)

  server.onRefresh = undefined
  const { main } = await next(t, server.target, directory)
  assert.equal((await send(main, call(1))).status, 200)
  assert.equal(urls.length, 1)
})

test('a refresh that fails again after a restart is retried after longer and longer pauses', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  const { urls } = signInUser(t)
  const tried: number[] = []
  const fail = (response: ServerResponse): void => {
    tried.push(performance.now())
    sendJson(response, 503, {})
  }
  const first = await next(t, server.target, directory)
  assert.equal((await send(first.main, call(1))).status, 200)
  server.revokeTokens()
  server.tokenFaults.push(fail)
  assert.equal((await send(first.main, call(1))).status, 503)
  await first.running.stop(0)

  server.tokenFaults.push(fail, fail)
  await next(t, server.target, directory)
  const [, second = 0, third = 0] = await eventually(() => (tried.length === 3 ? tried : undefined))
  assert.ok(third - second > 900, `after ${third - second} ms`)
  assert.equal(urls.length, 1)
})

test('after a stop in the middle of a refresh that fails there is no further attempt', async (t) => {
  const directory = folder(t)
  const server = await startAuthorizationServer(t)
  server.life = 6
  signInUser(t)
  const { main, running, lines } = await next(t, server.target, directory)
  assert.equal((await send(main, call(1))).status, 200)
  const answer = await new Promise<() => void>((sent) => {
    server.tokenFaults.push((response) => sent(() => sendJson(response, 503, {})))
  })
  const stopped = running.stop(0)
  answer()
  await stopped

  // The next process refreshes at once, and again when half of the life of that token is over.
  await next(t, server.target, directory)
  await eventually(() => server.grantsOf('refresh_token') === 3)
  assert.equal(lines.filter(({ msg }) => /could not be refreshed/.test(String(msg))).length, 1)
})
