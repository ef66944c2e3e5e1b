import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../kit/captured-log.js'
import { folder } from '../../kit/folder.js'
import { answeringIn } from '../../kit/mcp-eras.js'
import { browse, realLogin } from '../credential/oauth/real-provider.js'
import { ask, type Bridged, bridged, initialize, initialized } from './bridged.js'

/** The bridge of somebody who has not signed in, to a real MCP server that wants a token of a real provider. */
async function signedOut(t: TestContext, flags: readonly string[] = []) {
  const server = await answeringIn('2025-11-25')
  t.after(() => server.forget())
  const { target, counts } = await realLogin(t, { life: 300 }, (request, response) => {
    void text(request).then((body) => server.answer(request, response, body))
  })
  const login = ['--remote-auth', '--remote-auth-skip-browser', '--remote-auth-callback-port=0', ...flags]
  // What is kept goes to a folder of the test, and never into the keyring of whoever runs it.
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

test('somebody signs in by the hint on stderr, and what waits is answered: stdout has messages only', async (t) => {
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

  bridge.process.stdin.end()
  assert.equal(await bridge.ended(), 0)
  assert.deepEqual([counts.logins, hintsOf(bridge)], [1, [url]])
  const messages = bridge.lines.map((line) => JSON.parse(line))
  const ids = messages.filter(({ jsonrpc }) => jsonrpc === '2.0').map(({ id }) => Number(id))
  assert.deepEqual([ids.toSorted((one, other) => one - other), messages.length], [[0, 1, 2], 3])
})

test('nobody signs in: an error in time, and whoever asks again later is given another hint', async (t) => {
  const { bridge, counts } = await signedOut(t, ['--remote-auth-timeout=4s'])
  bridge.say(initialize())
  await hint(bridge, 1)
  const { error } = await bridge.heard(0)
  assert.deepEqual([Object(error).code, Object(error).data.error], [-32_000, 'login_timeout'])

  // A login that failed rests for a moment, and who asks meanwhile hears why.
  let asked = 0
  const url = await eventually(async () => {
    const id = ++asked
    bridge.say(initialize('2025-11-25', id))
    const rests = () => bridge.lines.some((line) => JSON.parse(line).id === id)
    await eventually(() => rests() || hintsOf(bridge).length === 2 || undefined)
    return hintsOf(bridge)[1]
  })
  await browse(url)
  assert.ok((await bridge.heard(asked))['result'] !== undefined)
  bridge.say(initialized, add(-1))
  assert.ok((await bridge.heard(-1))['result'] !== undefined)

  bridge.process.stdin.end()
  assert.equal(await bridge.ended(), 0)
  assert.deepEqual([counts.logins, hintsOf(bridge).length], [1, 2])
})

test('the end of input waits no longer than a login that nobody does', async (t) => {
  const { bridge } = await signedOut(t, ['--remote-auth-timeout=1s'])
  bridge.say(initialize())
  bridge.process.stdin.end()

  assert.equal(await bridge.ended(), 0)
  assert.deepEqual(
    bridge.lines.map((line) => JSON.parse(line).error.data.error),
    ['login_timeout'],
  )
})
