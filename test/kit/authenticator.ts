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
  /** What stands at the gate, for a provider at this URL. */
  readonly entries: (provider: string) => List
  /** The provider that works. */
  readonly provider: string
  /** Whom its tokens are for. */
  readonly audience: string
  /** A token that is accepted but for these claims; `undefined` takes a claim away. */
  readonly token: (claims?: Readonly<Record<string, unknown>>) => string | Promise<string>
}

/** A route that needs a token, and answers with whom it let in. */
export const protectedRoute = definePlugin({
  name: 'closed-route',
  api: 1,
  setup: ({ http }) => void http.all('/closed', ({ identity }) => ({ subject: identity?.subject })),
})

/** A gateway on a free port with these entries at its gate, and a way to requestWith. */
export async function gatewayWith(t: TestContext, entries: List, listening: object = {}) {
  const { log, lines, scrubber } = recordedLog()
  const door = { use: 'listen/http', with: { address: '127.0.0.1:0', ...listening } }
  const running = await serving(t, [door, { use: 'discovery/issuer' }, ...entries, { use: protectedRoute }], {
    log,
    scrubber,
  })
  const url = `${running.addresses.main}/closed`
  const requestWith = (authorization?: string) =>
    fetch(url, authorization === undefined ? {} : { headers: { authorization } })
  return { running, lines, url, requestWith }
}

/** Holds an authenticator to what every one of them must do, whatever it checks. */
export function authenticatorSuite(
  name: string,
  start: (t: TestContext) => Promise<AuthenticatorCase>,
): void {
  test(`${name} accepts its own token and refuses nonsense`, async (t) => refusesNonsense(t, await start(t)))
  test(`${name} refuses wrong claims, and judges time at its edges`, async (t) =>
    judgesClaims(t, await start(t)))
  test(`${name} refuses when its provider fails in any way`, async (t) =>
    refusesWhenFaulty(t, await start(t)))
  test(`${name} survives a caller that leaves, and stops with nothing left open`, async (t) =>
    stopsCleanly(t, await start(t)))
}

/** Nonsense is refused, leaves no trace in the log, and does not keep a good token out afterwards. */
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

/** Whatever a provider answers, the caller gets a refusal in bounded time and never an error of ours. */
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

/** A caller that leaves breaks nothing, and what was opened is closed when the gateway stops. */
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
  // What belongs to the client and to the test itself may go at any moment; nothing may have come.
  await eventually(() => (comparedWith(before).length === 0 ? true : undefined))
}

function comparedWith(before: readonly string[]): readonly string[] {
  const left = [...before]
  return handles().filter((name) => {
    const at = left.indexOf(name)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

// What would keep this process alive, but for the sockets of this test's own servers and clients.
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => !/TCP|Pipe|TTY|FSReq|Immediate|TickObject|HTTP/i.test(name))
    .sort()
