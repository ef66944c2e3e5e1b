import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { dial } from '#kit/raw.js'

const plugins = [{ use: 'limit/requests', with: { limits: [{ by: 'caller', rate: '2/10m' }] } }]

function started(t: TestContext, words: readonly string[], settings: object) {
  const home = folder(t, { 'preset.json': JSON.stringify({ ...settings, plugins }), 'servers.json': '[]' })
  return program(t, [...words, '--config', join(home, 'preset.json')], { patience: 60 })
}

const upgrade = (origin: string): string =>
  `GET /mcp HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`

/** The first line of an answer, while its connection stays open. */
const begun = (t: TestContext, origin: string, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = dial(origin)
    t.after(() => socket.destroy())
    socket.on('error', reject).on('data', (data) => resolve(String(data).split('\r\n', 1)[0] ?? ''))
    socket.write(text)
  })

test('in the file of a proxy, event streams and upgrades count when they begin', async (t) => {
  const target = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  })
  target.on('upgrade', (_request, socket) => {
    socket
      .on('error', () => {})
      .write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const { port } = await opened(t, target)
  const targetUri = `http://127.0.0.1:${port}/mcp`
  const proxy = started(t, ['proxy', 'mine'], { targetUri, port: 0 })
  const { origin } = new URL(await proxy.ready())
  const stream = upgrade(origin).replace(/Connection.*\r\nUpgrade.*\r\n/, 'Accept: text/event-stream\r\n')

  assert.match(await begun(t, origin, stream), /^HTTP\/1.1 200/)
  assert.match(await begun(t, origin, upgrade(origin)), /^HTTP\/1.1 101/)
  assert.match(await begun(t, origin, upgrade(origin)), /^HTTP\/1.1 429/)
  assert.match(await begun(t, origin, stream), /^HTTP\/1.1 429/)
})

test('the file of a registry may have limits', async (t) => {
  const registry = started(t, ['registry'], {
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    auth: { mode: 'anonymous' },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
    registries: [{ name: 'default', sources: ['own'] }],
    stateDirectory: null,
  })
  const { origin } = new URL(await registry.ready())
  const ask = async () => fetch(`${origin}/registry/default/v0.1/servers`)

  assert.deepEqual([(await ask()).status, (await ask()).status], [200, 200])
  const refused = await ask()
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) > 590)
  assert.match(await refused.text(), /"error":"too_many_requests"/)
})
