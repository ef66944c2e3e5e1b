import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { definePlugin, type List } from 'sallyport'
import { recordedLog, serving } from './booted.js'
import { eventually } from './captured-log.js'
import { providerFaults } from './faults.js'
import { closedPort, listening } from './listening.js'

/** An authenticator under test, with a provider that works. */
export interface AuthenticatorCase {
  /** The plugins under test, for a provider at this URL. */
  readonly entries: (provider: string) => List
  /** The provider that works. */
  readonly provider: string
  /** The audience of its tokens. */
  readonly audience: string
  /** A valid token with these claims changed; `undefined` removes a claim. */
  readonly token: (claims?: Readonly<Record<string, unknown>>) => string | Promise<string>
}

/** A route that needs a token, and responds with the subject of the caller. */
export const protectedRoute = definePlugin({
  name: 'closed-route',
  api: 1,
  setup: ({ http }) => void http.all('/closed', ({ identity }) => ({ subject: identity?.subject })),
})

/** Starts a gateway on a free port with these plugins, and returns a function that sends requests to it. */
export async function gatewayWith(t: TestContext, entries: List, listening: object = {}) {
  const { log, lines, scrubber } = recordedLog()
  const listener = { use: 'listen/http', with: { address: '127.0.0.1:0', ...listening } }
  const running = await serving(
    t,
    [listener, { use: 'discovery/issuer' }, ...entries, { use: protectedRoute }],
    {
      log,
      scrubber,
    },
  )
  const url = `${running.addresses.main}/closed`
  const requestWith = (authorization?: string) =>
    fetch(url, authorization === undefined ? {} : { headers: { authorization } })
  return { running, lines, url, requestWith }
}

/** Tests what every authenticator must do, independent of what it checks. */
export function authenticatorSuite(
  name: string,
  start: (t: TestContext) => Promise<AuthenticatorCase>,
): void {
  test(`${name} accepts its own token and refuses nonsense`, async (t) => refusesNonsense(t, await start(t)))
  test(`${name} refuses wrong claims, and checks times to the second`, async (t) =>
    judgesClaims(t, await start(t)))
  test(`${name} refuses when its provider fails in any way`, async (t) =>
    refusesWhenFaulty(t, await start(t)))
  test(`${name} survives a client that disconnects, and stops with nothing left open`, async (t) =>
    stopsCleanly(t, await start(t)))
}

/** The authenticator refuses nonsense, logs no token, and accepts a good token afterwards. */
export async function refusesNonsense(t: TestContext, subject: AuthenticatorCase): Promise<void> {
  const { requestWith, lines } = await gatewayWith(t, subject.entries(subject.provider))
  const good = await subject.token()
  const [head = '', body = '', signature = ''] = good.split('.')
  const nonsense = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer  ${good}`,
    `bearer\t${good}`,
    `Bearer "${good}"`,
    `Bearer ${good},${good}`,
    `Bearer ${good} extra`,
    `Basic ${good}`,
    good,
    'Bearer a',
    'Bearer ..',
    'Bearer e30.e30.',
    'Bearer eyJ.eyJ.eyJ',
    'Bearer eyJhbGciOiJub25lIn0.e30.',
    `Bearer ${good}x`,
    `Bearer x${good}`,
    `Bearer ${good.slice(0, -3)}`,
    `Bearer ${good.split('').reverse().join('')}`,
    `Bearer ${head}.${body}.`,
    `Bearer ${head}.${body}.${signature}.${signature}`,
    `Bearer ${'A'.repeat(16_000)}`,
    `Bearer ${'eyJ'.repeat(5000)}.e30.e30`,
    `Bearer ${'.'.repeat(10_000)}`,
    `Bearer ${'A'.repeat(20_000)}`,
  ]
  assert.equal((await requestWith(`Bearer ${good}`)).status, 200)
  for (const each of nonsense) assert.equal((await requestWith(each)).status, 401, each.slice(0, 60))
  assert.equal((await requestWith()).status, 401)
  assert.equal((await requestWith(`bEARER ${good}`)).status, 200)
  assert.equal(JSON.stringify(lines).includes(good), false, 'the token is in the log')
}

/** `iss`, `aud`, `exp`, `nbf`, `iat` and `cnf`, each wrong alone. */
export async function judgesClaims(t: TestContext, subject: AuthenticatorCase): Promise<void> {
  const { requestWith } = await gatewayWith(t, subject.entries(subject.provider))
  const now = Math.floor(Date.now() / 1000)
  const status = async (claims: Readonly<Record<string, unknown>>) =>
    (await requestWith(`Bearer ${await subject.token(claims)}`)).status

  const { provider, audience } = subject
  const wrongIssuers = [
    `${provider}/`,
    provider.toUpperCase(),
    provider.slice(0, -1),
    '',
    [provider],
    null,
    7,
  ]
  for (const iss of wrongIssuers) assert.equal(await status({ iss }), 401, `iss ${iss}`)
  const wrongAudiences = ['', `${audience}x`, `${audience} `, ['other'], [], { 0: audience }, null, true]
  for (const aud of wrongAudiences) assert.equal(await status({ aud }), 401, `aud ${JSON.stringify(aud)}`)
  for (const exp of [now - 1, 0, -1, '9999999999', null, [now + 60]])
    assert.equal(await status({ exp }), 401, `exp ${exp}`)
  for (const nbf of [now + 30, '0', null]) assert.equal(await status({ nbf }), 401, `nbf ${nbf}`)
  for (const iat of [now + 3600, 'now']) assert.equal(await status({ iat }), 401, `iat ${iat}`)
  assert.equal(await status({ cnf: { jkt: 'x' } }), 401, 'cnf')
  assert.equal(await status({ cnf: { 'x5t#S256': 'x' } }), 401, 'cnf of a certificate')

  assert.equal(await status({ exp: now + 10, nbf: now - 1 }), 200)
  assert.equal(await status({ aud: ['other', audience] }), 200)
}

/** For every fault of the provider, the gateway refuses the caller in bounded time, and never fails itself. */
export async function refusesWhenFaulty(t: TestContext, subject: AuthenticatorCase): Promise<void> {
  const faulty = await Promise.all(
    Object.entries(providerFaults).map(
      async ([fault, listener]) => [fault, await listening(t, listener)] as const,
    ),
  )
  const all = [...faulty, ['a port that is closed', await closedPort()] as const]
  await Promise.all(
    all.map(async ([fault, provider]) => {
      const { requestWith } = await gatewayWith(t, subject.entries(provider))
      const answer = await requestWith(`Bearer ${await subject.token({ iss: provider })}`)
      assert.ok([401, 503].includes(answer.status), `${fault}: ${answer.status}`)
    }),
  )
}

/** A client that disconnects breaks nothing, and a stopped gateway leaves no handle open. */
export async function stopsCleanly(t: TestContext, subject: AuthenticatorCase): Promise<void> {
  const silent = await listening(t, () => {})
  const before = handles()
  const { url, running } = await gatewayWith(t, subject.entries(silent))
  const token = await subject.token()
  await new Promise<void>((left) => {
    const leaving = request(url, { headers: { authorization: `Bearer ${token}` } })
    leaving.on('error', () => left())
    leaving.on('socket', (socket) => socket.on('connect', () => leaving.destroy()))
    leaving.end()
  })
  assert.equal((await fetch(url)).status, 401)
  await running.stop(0)
  // Handles of the client and of the test may close at any moment; there must be no new one.
  await eventually(() => (handlesBeyond(before).length === 0 ? true : undefined))
}

function handlesBeyond(before: readonly string[]): readonly string[] {
  const left = [...before]
  return handles().filter((name) => {
    const at = left.indexOf(name)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

// Handles that keep this process alive, without the sockets of this test's own servers and clients.
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => !/TCP|Pipe|TTY|FSReq|Immediate|TickObject|HTTP/i.test(name))
    .sort()
