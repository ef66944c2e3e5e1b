import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { listening, opened } from '#kit/listening.js'
import { ask, startedBridge } from './bridged.js'

const MEGABYTE = 1024 ** 2
const SIZE = 50 * MEGABYTE

/** Resident memory of a process in megabytes, now or at its peak. */
function memory({ pid }: ReturnType<typeof startedBridge>, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}

/** The count, once it no longer grows. */
async function standstill(count: () => number): Promise<number> {
  for (let last = -1; last !== count(); await setTimeout(500)) last = count()
  return count()
}

/** Waits without a limit of its own: large messages take long. */
async function until<T>(look: () => T | undefined): Promise<T> {
  for (let found = look(); ; found = look()) {
    if (found !== undefined) return found
    await setTimeout(10)
  }
}

const LIMIT = { timeout: 60_000 }

const json = { 'content-type': 'application/json' }

test('a message of 50 MB takes a few times its size in memory, in each direction', LIMIT, async (t) => {
  const url = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const { id, params } = JSON.parse(body)
      const result = params.wants === undefined ? {} : { pad: 'x'.repeat(params.wants) }
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
  })
  for (const [way, params] of [
    ['there', { pad: 'x'.repeat(SIZE) }],
    ['back', { wants: SIZE }],
  ] as const) {
    const bridge = startedBridge(t, url)
    bridge.say(ask(0, 'ping'))
    await until(() => bridge.lines[0])
    const before = memory(bridge, 'VmRSS')
    bridge.say(ask(1, 'tools/call', params))
    // Parsing it again and again would take longer than sending it.
    await until(() => bridge.lines[1])
    const growth = memory(bridge, 'VmHWM') - before
    t.diagnostic(`${way}: ${growth.toFixed(0)} MB more memory for ${SIZE / MEGABYTE} MB`)
    assert.ok(growth < 5 * 50, `${way}: ${growth} MB`)
  }
})

test(
  'a target that does not read slows down the client, and cancelled requests free their room',
  LIMIT,
  async (t) => {
    const answered: string[] = []
    const server = createServer((socket) => {
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      socket.once('data', (head) => {
        const small = /\r\n\r\n(\{.{0,200}\})$/s.exec(String(head))?.[1]
        if (small === undefined) {
          socket.pause()
          return
        }
        answered.push(small)
        const { id } = JSON.parse(small)
        const body = JSON.stringify({ jsonrpc: '2.0', id, result: {} })
        socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n${body}`)
      })
    })
    const { port } = await opened(t, server)
    const bridge = startedBridge(t, `http://127.0.0.1:${port}/mcp`)

    // A stuck message does not block small ones, and its end sends no message.
    const pad = 'x'.repeat(SIZE)
    bridge.say(ask(1, 'tools/call', { pad }), ask(2, 'ping'))
    await until(() => bridge.lines[0])
    bridge.say(
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      ask(3, 'ping'),
    )
    await until(() => bridge.lines[1])
    assert.ok(answered.every((body) => JSON.parse(body).method === 'ping'))

    // A hundred of them are refused.
    const { input: stdin } = bridge
    let written = 0
    const ten = `${JSON.stringify(ask(4, 'tools/call', { pad: 'x'.repeat(10 * MEGABYTE) }))}\n`
    const pump = (): void => {
      stdin.write(ten, (error) => {
        if (error) return
        written += ten.length
        if (written < 1000 * MEGABYTE) pump()
      })
    }
    pump()
    const taken = (): number => written
    await until(() => (taken() >= 20 * MEGABYTE ? true : undefined))
    const held = await standstill(taken)
    t.diagnostic(
      `${(held / MEGABYTE).toFixed(0)} MB were taken; ${memory(bridge, 'VmRSS').toFixed(0)} MB held`,
    )
    assert.ok(held < 64 * MEGABYTE, `${held} bytes`)
  },
)

test('a client that does not read slows down the target', LIMIT, async (t) => {
  const event = Buffer.from(
    `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: { pad: 'x'.repeat(MEGABYTE) } })}\n\n`,
  )
  const MOST = 512 * MEGABYTE
  let socket: Socket | undefined
  const url = await listening(t, (request, response) => {
    request.resume()
    socket = request.socket
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const pump = (): void => {
      while (response.socket !== null && response.socket.bytesWritten < MOST && response.write(event));
    }
    response.on('drain', pump)
    pump()
  })
  const bridge = startedBridge(t, url)
  bridge.stdout.pause()
  bridge.say(ask(1, 'tools/call', { name: 'x' }))
  const writing = await until(() => socket)
  const taken = (): number => writing.bytesWritten - writing.writableLength
  await until(() => (taken() > 0 ? true : undefined))
  const held = await standstill(taken)
  t.diagnostic(`${(held / MEGABYTE).toFixed(1)} MB were taken; ${memory(bridge, 'VmRSS').toFixed(0)} MB held`)
  assert.ok(held < 48 * MEGABYTE, `${held} bytes`)

  bridge.stdout.resume()
  await until(() => (taken() > 4 * held ? true : undefined))
})
