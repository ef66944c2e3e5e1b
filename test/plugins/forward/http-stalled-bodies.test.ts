import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { proxied } from './proxied.js'
import { rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
const SIZE = 20_000

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } }).padEnd(
  SIZE,
)

const reading = [
  { use: 'policy/tools', with: { rules: [{ deny: ['secret'] }] } },
  { use: 'limit/requests', with: { limits: [{ by: 'tool', rate: '1000/1m' }] } },
]

async function gateway(t: TestContext, more: (typeof reading)[number]) {
  const target = await rawTarget(t, () => OK)
  const { main } = await proxied(t, target.origin, { keptBodies: 8 * 5 * SIZE }, [more])
  const port = Number(new URL(main).port)
  const stall = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(
      `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${SIZE + 1}\r\n\r\n${body}`,
    )
    return socket
  }
  const call = async (localAddress: string): Promise<IncomingMessage> => {
    const headers = { 'content-type': 'application/json' }
    const sent = httpRequest({ port, localAddress, method: 'POST', headers, agent: false }).end(body)
    const [response]: IncomingMessage[] = await once(sent, 'response')
    assert.ok(response)
    return response.resume()
  }
  return { stall, call }
}

for (const more of reading) {
  test(`unfinished bodies of one client block no other client: ${more.use}`, async (t) => {
    const { stall, call } = await gateway(t, more)
    for (let count = 0; count < 100; count++) await stall('127.0.0.1')

    await eventually(async () => (await call('127.0.0.1')).statusCode === 503)
    assert.ok(Number((await call('127.0.0.1')).headers['retry-after']) > 0)
    assert.equal((await call('127.0.0.2')).statusCode, 200)
  })
}

test('when many clients fill the budget, bodies that have stalled for a second end for the next call', async (t) => {
  const { stall, call } = await gateway(t, { use: 'policy/tools', with: { rules: [{ deny: ['secret'] }] } })
  const sockets: Socket[] = []
  for (let client = 1; client <= 8; client++)
    for (let count = 0; count < 5; count++) sockets.push(await stall(`127.0.0.${client}`))

  const first = sockets[0]
  assert.ok(first)
  const answered = once(first, 'data')
  await eventually(async () => (await call('127.0.0.9')).statusCode === 200, 5)
  assert.match(String((await answered)[0]), /^HTTP\/1.1 408 /)
})
