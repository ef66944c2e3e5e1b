import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'

const needsProc = { skip: process.platform === 'linux' ? false : 'the timers of sockets are read from /proc' }

// The column of /proc/net/tcp that names the timer of a socket: 02 is that of keepalive (proc_net_tcp.txt of Linux).
const [LOCAL, REMOTE, TIMER] = [1, 2, 5]
const KEEP_ALIVE = '02'

const hex = (port: number | undefined): string => (port ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** The timer that the system has set for the far end of a connection. */
function timerOf(server: number, client: number | undefined): readonly [string, number] | undefined {
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const columns = line.trim().split(/\s+/)
    if (columns[LOCAL]?.endsWith(`:${hex(server)}`) && columns[REMOTE]?.endsWith(`:${hex(client)}`)) {
      const [timer = '', ticks = ''] = columns[TIMER]?.split(':') ?? []
      return [timer, Number.parseInt(ticks, 16) / 100]
    }
  }
  return undefined
}

test('TCP keep-alive probes begin after a minute', needsProc, async (t) => {
  const { main = '' } = (await serving(t, [listen])).addresses
  const socket = dial(main)
  t.after(() => void socket.destroy())
  await once(socket, 'connect')

  const seconds = await eventually(() => {
    const [timer, left] = timerOf(Number(new URL(main).port), socket.localPort) ?? []
    return timer === KEEP_ALIVE && left
  }, 5)
  assert.ok(seconds > 30 && seconds <= 61, `${seconds} s`)
})
