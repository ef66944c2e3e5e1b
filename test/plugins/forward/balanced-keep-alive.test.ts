import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { sendRaw } from '#kit/raw.js'
import { call, openRequest } from './proxied.js'

const list = (target: string) => [
  listen,
  { use: 'auth/anonymous' },
  { use: 'forward/balanced', with: { targets: [target] } },
]

test('with replicas too, a response says whether its connection ends', async (t) => {
  const { addresses } = await serving(t, list(await listening(t, (_request, response) => response.end('x'))))
  const main = addresses.main ?? ''

  const ended = await sendRaw(main, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  assert.match(ended, /\r\nConnection: close\r\n/i)
  const kept = 'GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n'
  const both = await sendRaw(main, `${kept}GET / HTTP/1.0\r\nHost: a\r\n\r\n`)
  assert.deepEqual(both.match(/(?<=\r\nConnection: )[\w-]+/gi), ['keep-alive', 'close'])
})

test('with replicas too, a response during a stop says that its connection closes', async (t) => {
  const answers: ServerResponse[] = []
  let came = (): void => {}
  const asked = new Promise<void>((resolve) => {
    came = resolve
  })
  const target = await listening(t, (request, response) => {
    answers.push(response)
    request.resume().on('end', () => came())
  })
  const running = await serving(t, list(target))
  const response = openRequest(running.addresses.main ?? '', call(1))
  await asked

  const stopped = running.stop(5_000)
  answers[0]?.end('x')
  const { headers } = await response
  assert.equal(headers.connection, 'close')
  await stopped
})

test('with replicas too, a response before the end of the body is the last of its connection', async (t) => {
  const { addresses } = await serving(t, list(await listening(t, (_request, response) => response.end('x'))))
  const request = httpRequest(addresses.main ?? '', { method: 'POST', headers: { connection: 'keep-alive' } })
  t.after(() => request.destroy())
  request.write('the first part')

  const [response]: IncomingMessage[] = await once(request, 'response')
  assert.equal(response?.headers.connection, 'close')
  request.end()
})
