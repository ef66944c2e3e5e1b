import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../kit/captured-log.js'
import { folder } from '../../../kit/folder.js'
import { program } from '../../../kit/program.js'
import { asking, call } from '../../forward/proxied.js'
import { type AuthorizationServer, authorizing } from './authorization-server.js'
import { browse, realLogin } from './real-provider.js'
import { person, signingIn } from './signing-in.js'

/** The login that is kept in a folder. */
function keptLogin(directory: string) {
  const texts = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
  const text = texts.find((each) => each.includes('oauth/session/')) ?? assert.fail('no login is kept')
  const { tokens, renewing } = JSON.parse(JSON.parse(text).value)
  return { refreshToken: String(tokens.refreshToken), renewing: Number(renewing) }
}

/** A proxy in a process of its own that signs in, and is killed where the answer to its first refresh would be kept. */
async function cutOff(t: TestContext, target: string, sign: (page: string) => Promise<unknown>) {
  const state = folder(t)
  const directory = join(state, 'sallyport')
  const armed = join(folder(t), 'armed')
  const environment = {
    XDG_STATE_HOME: state,
    NODE_OPTIONS: `--import=${import.meta.resolve('../../../kit/kill-at.mjs')}`,
    KILL_BELOW: directory,
    KILL_ONCE_THERE: armed,
    KILL_AT: '1',
  }
  const flags = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0']
  const proxy = program(t, ['proxy', 'mine', `--target-uri=${target}`, ...flags], {
    environment,
    patience: 30,
  })
  const ended = once(proxy.process, 'exit')
  const main = await proxy.ready()
  await sign(await proxy.until(/(?<=^Open this URL to sign in: )\S+$/m))
  assert.equal((await asking(main, call(1))).status, 200)
  return {
    directory,
    main,
    /** To be called when the issuer has granted the refresh, and before it says so. */
    arm: () => writeFileSync(armed, ''),
    async killed() {
      assert.deepEqual(await ended, [null, 'SIGKILL'])
      return keptLogin(directory)
    },
  }
}

async function cutOffAt(t: TestContext, server: AuthorizationServer) {
  const proxy = await cutOff(t, server.target, (page) => fetch(page))
  server.onRefresh = proxy.arm
  server.revokeTokens()
  const request = asking(proxy.main, call(2)).catch(() => {})
  const { renewing } = await proxy.killed()
  await request
  assert.ok(renewing > 0)
  server.onRefresh = undefined
  assert.equal(server.grantsOf('refresh_token'), 1)
  return proxy.directory
}

const next = (t: TestContext, target: string, directory: string) =>
  signingIn(t, target, { login: 'start' }, { directory })

/** Requests all the time, since the token from before the kill may last a little longer. None of them fails. */
const asksUntil = (main: string, done: () => boolean) =>
  eventually(async () => {
    const answers = await Promise.all([1, 2, 3].map((id) => asking(main, call(id))))
    const failed = answers.filter(({ status }) => status !== 200).map(({ body }) => body)
    assert.deepEqual(failed, [])
    return done() || undefined
  })

test('a kill between the answer and its save: an issuer that gives it again is asked at once, and nobody signs in (T15)', async (t) => {
  const server = await authorizing(t)
  server.patient = true
  const directory = await cutOffAt(t, server)
  const { urls } = person(t)
  const { main, lines } = await next(t, server.target, directory)
  // Nobody has asked for anything, and the token would have lasted.
  await eventually(() => server.grantsOf('refresh_token') === 2 || undefined)
  assert.equal((await asking(main, call(1))).status, 200)
  assert.deepEqual([urls.length, server.times('/authorize')], [0, 1])
  assert.doesNotMatch(JSON.stringify(lines), /cut off/)
  assert.ok(Number.isNaN(keptLogin(directory).renewing))
})

test('a kill between the answer and its save: an issuer that gives it once is said, with one login (T15)', async (t) => {
  const server = await authorizing(t)
  const directory = await cutOffAt(t, server)
  const { urls } = person(t)
  const { main, lines } = await next(t, server.target, directory)
  await asksUntil(main, () => urls.length > 0)
  assert.deepEqual([urls.length, server.grantsOf('refresh_token')], [1, 2])
  const said = lines.filter(({ msg }) => /cut off before it was kept/.test(String(msg)))
  assert.equal(said.length, 1)
})

test('a kill between the answer and its save: oidc-provider ends the login, and one new login follows (T15)', async (t) => {
  const tokens = { life: 3 }
  const { target, counts, onGrant } = await realLogin(t, tokens)
  const proxy = await cutOff(t, target, browse)
  onGrant(proxy.arm)
  await proxy.killed()
  tokens.life = 3600
  const { urls } = person(t, browse)
  const { main, lines } = await next(t, target, proxy.directory)
  await asksUntil(main, () => urls.length > 0)
  assert.deepEqual([urls.length, counts.logins], [1, 2])
  assert.match(JSON.stringify(lines), /cut off before it was kept/)
})

test('who is asked to stop in the middle of a refresh keeps its answer first (T15)', async (t) => {
  const directory = folder(t)
  const server = await authorizing(t)
  server.life = 3
  const { urls } = person(t)
  const first = await signingIn(t, server.target, { login: 'start' }, { directory })
  assert.equal((await asking(first.main, call(1))).status, 200)
  const { refreshToken } = keptLogin(directory)

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
  assert.notEqual(keptLogin(directory).refreshToken, refreshToken)

  server.onRefresh = undefined
  const { main } = await next(t, server.target, directory)
  assert.equal((await asking(main, call(1))).status, 200)
  assert.equal(urls.length, 1)
})
