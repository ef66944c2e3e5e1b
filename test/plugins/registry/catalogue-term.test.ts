import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { server } from './registry.js'

test('SIGTERM with requests in flight: each gets its complete response', async (t) => {
  const documents = Array.from({ length: 100 }, (_, index) =>
    server(`a.example/server-${index}`, '1.0.0', { description: 'x'.repeat(90) }),
  )
  const home = folder(t, {
    'servers.json': JSON.stringify(documents),
    'registry.json': JSON.stringify({
      address: '127.0.0.1:0',
      internalAddress: '127.0.0.1:0',
      auth: { mode: 'anonymous' },
      sources: [{ name: 'own', file: { path: './servers.json' } }],
      stateDirectory: null,
    }),
  })
  const registry = program(t, ['registry', '--config', 'registry.json'], { cwd: home })
  const { port, host } = new URL(await registry.ready())

  // Slow readers: responses are still in the sockets when the signal comes.
  const path = '/registry/default/v0.1/servers?limit=100'
  const readers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
      await eventually(() => (socket.readableLength > 0 ? true : undefined))
      return socket
    }),
  )
  registry.stop()
  await registry.until(/asked to stop/)
  const answers = await Promise.all(
    readers.map(async (socket) => {
      let text = ''
      for await (const chunk of socket) text += String(chunk)
      return text
    }),
  )

  assert.equal(await registry.ended(), 0)
  for (const answer of answers) {
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
    assert.equal(Buffer.byteLength(body), length)
    assert.equal(JSON.parse(body).servers.length, 100)
  }
})
