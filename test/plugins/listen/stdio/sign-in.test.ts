import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { eraServer } from '#kit/mcp-eras.js'
import { browse, realLogin } from '../../credential/oauth/real-provider.js'
import { ask, type Bridged, bridged, initialize, initialized } from './bridged.js'

/** A bridge without a login, to a real MCP server that needs a token of a real provider. */
async function signedOut(t: TestContext, flags: readonly string[] = []) {
  const server = await eraServer('2025-11-25')
  t.after(() => server.forget())
  const { target, counts } = await realLogin(t, { life: 300 }, (request, response) => {
    void text(request).then((body) => server.answer(request, response, body))
  })
  const login = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0', ...flags]
  // Credentials go to a folder of the test, and never into the user's keyring.
  const bridge = bridged(t, target, login, {
    XDG_STATE_HOME: folder(t),
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/dev/null',
  })
  return { bridge, counts }
}

const hintsOf = ({ log }: Bridged): string[] =>
  [...log().matchAll(/^Open this URL to sign in: (\S+)$/gm)].map(([, url = '']) => url)

const hint = (bridge: Bridged, nth: number): Promise<string> => eventually(() => hintsOf(bridge)[nth - 1])

const add = (id: number) => ask(id, 'tools/call', { name: 'add', arguments: { a: 1, b: id } })

test('a user signs in with the URL on stderr, and waiting requests get responses; stdout has messages only', async (t) => {
  const { bridge, counts } = await signedOut(t)
  bridge.say(initialize(), initialized, add(1), add(2))

  const url = await hint(bridge, 1)
  assert.deepEqual(bridge.lines, [])
  await browse(url)
  assert.equal(Object((await bridge.heard(0))['result'])['protocolVersion'], '2025-11-25')
  for (const id of [1, 2]) {
    const { content } = Object((await bridge.heard(id))['result'])
    assert.equal(content[0].text, String(1 + id))
  }

  bridge.input.end()
  assert.equal(await bridge.ended(), 0)
  assert.deepEqual([counts.logins, hintsOf(bridge)], [1, [url]])
  const messages = bridge.lines.map((line) => JSON.parse(line))
  const ids = messages.filter(({ jsonrpc }) => jsonrpc === '2.0').map(({ id }) => Number(id))
  assert.deepEqual([ids.toSorted((one, other) => one - other), messages.length], [[0, 1, 2], 3])
})

test('without a login requests fail in time, and one that is finished later is used by the next request', async (t) => {
  const { bridge, counts } = await signedOut(t, ['--remote-auth-timeout=4s'])
  bridge.say(initialize())
  const url = await hint(bridge, 1)
  const { error } = await bridge.heard(0)
  const { code, data } = Object(error)
  assert.deepEqual([code, data.error], [-32_000, 'login_timeout'])
  assert.ok(JSON.stringify(error).includes('--remote-auth-timeout'), JSON.stringify(error))
  assert.ok(JSON.stringify(error).includes(url), JSON.stringify(error))

  await browse(url)
  bridge.say(initialize('2025-11-25', 1))
  assert.ok((await bridge.heard(1))['result'] !== undefined)
  bridge.say(initialized, add(2))
  assert.ok((await bridge.heard(2))['result'] !== undefined)

  bridge.input.end()
  assert.equal(await bridge.ended(), 0)
  assert.deepEqual([counts.logins, hintsOf(bridge)], [1, [url]])
})

test('the end of the input waits no longer than a pending login', async (t) => {
  const { bridge } = await signedOut(t, ['--remote-auth-timeout=1s'])
  bridge.say(initialize())
  bridge.input.end()

  assert.equal(await bridge.ended(), 0)
  assert.deepEqual(
    bridge.lines.map((line) => JSON.parse(line).error.data.error),
    ['login_timeout'],
  )
})
