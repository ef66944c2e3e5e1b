import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from './folder.js'
import { spawned } from './spawned.js'

/** Why a test has no HAProxy; undefined when it has. */
export const noHaproxy: string | undefined =
  spawnSync('haproxy', ['-v']).status === 0 ? undefined : 'haproxy is not installed'

/** A server that HAProxy balances to; `main` and `internal` are `host:port`. */
interface Server {
  readonly name: string
  readonly main: string
  readonly internal: string
}

/**
 * Starts HAProxy in front of gateways. By default it retries nothing, so that a client that meets a closed port gets an
 * error. A request with `x-to` goes to the server of that name; the header `x-served-by` of a response names it.
 */
export async function startHaproxy(
  t: TestContext,
  url: string,
  servers: readonly Server[],
  { retries = 0 }: { readonly retries?: number } = {},
) {
  const home = folder(t)
  const socket = join(home, 'stats')
  const lines = servers.map(
    ({ name, main, internal }) => `
  use-server ${name} if { hdr(x-to) ${name} }
  server ${name} ${main} check port ${internal.split(':').at(-1)} inter 100ms fall 1 rise 1`,
  )
  const configuration = `
global
  stats socket ${socket}
defaults
  mode http
  retries ${retries}
  option redispatch 1
  retry-on all-retryable-errors
  timeout connect 5s
  timeout check 10s
  timeout client 60s
  timeout server 60s
frontend in
  bind ${new URL(url).host}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk GET /readiness
  http-check expect status 200
  http-response set-header x-served-by %s
  ${lines.join('')}
`
  const file = join(folder(t, { 'haproxy.cfg': configuration }), 'haproxy.cfg')
  spawned(t, ['haproxy', '-db', '-f', file], { stdio: 'ignore' })
  /** A text that begins with UP or DOWN. */
  return { status: (name: string) => statusOf(socket, name) }
}

async function statusOf(path: string, name: string): Promise<string | undefined> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    socket.end('show stat\n')
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    const [head = [], ...rows] = text.split('\n').map((line) => line.split(','))
    return rows.find((row) => row[0] === 'gateways' && row[1] === name)?.[head.indexOf('status')]
  } catch {
    return undefined
  }
}
