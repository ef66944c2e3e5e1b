import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { Redis, type RedisOptions } from 'ioredis'
import { eventually } from './captured-log.js'
import { folder } from './folder.js'
import { freePort } from './free-port.js'

/** Why a test cannot have a Redis server; undefined when it can. */
export const noRedis: string | undefined =
  spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'redis-server is not installed'

export interface TestRedisOptions {
  /** Arguments of the server; a later one overrides an earlier one. */
  readonly argv?: readonly string[]
  readonly password?: string
  /** PEM files: the server accepts only TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly caFile: string }
  /** The test starts the server itself. */
  readonly stopped?: true
}

/** A Redis server on a port of its own, with a folder for its data. Stopped when the test ends. */
export interface TestRedis {
  readonly url: string
  readonly port: number
  start(argv?: readonly string[]): Promise<void>
  /** Stops it with SIGTERM: it saves its data. */
  stop(): Promise<void>
  /** kill -9 */
  kill(): Promise<void>
  /** SIGSTOP: the kernel still accepts connections, and the server does not respond. */
  pause(): void
  resume(): void
  /** A connection of the test, closed when it ends. */
  client(options?: RedisOptions): Redis
}

export async function testRedis(t: TestContext, options: TestRedisOptions = {}): Promise<TestRedis> {
  const { password, tls, stopped } = options
  const directory = folder(t)
  const port = await freePort()
  let server: ChildProcess | undefined
  const base = [
    ...['--dir', directory, '--bind', '127.0.0.1', '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', 'everysec'],
    ...(tls === undefined
      ? ['--port', String(port)]
      : ['--port', '0', '--tls-port', String(port), ...tlsArguments(tls)]),
    ...(password === undefined ? [] : ['--requirepass', password]),
    ...(options.argv ?? []),
  ]
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server?.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill(signal)
    server.kill('SIGCONT')
    await exited
  }
  const client = (given: RedisOptions = {}): Redis => {
    const made = new Redis({
      ...{ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: null },
      ...(password !== undefined && { password }),
      ...given,
    })
    made.on('error', () => {})
    t.after(() => made.disconnect())
    return made
  }
  const start = async (argv: readonly string[] = []): Promise<void> => {
    server = spawn('redis-server', [...base, ...argv], { stdio: 'ignore' })
    const { exitCode } = server
    assert.equal(exitCode, null)
    await eventually(
      () => isReady(client({ ...(tls !== undefined && { tls: { rejectUnauthorized: false } }) })),
      30,
    )
  }
  t.after(() => end('SIGKILL'))
  if (!stopped) await start()
  const scheme = tls === undefined ? 'redis' : 'rediss'
  const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`
  return {
    url: `${scheme}://${login}127.0.0.1:${port}`,
    port,
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    client,
  }
}

const tlsArguments = ({
  certFile,
  keyFile,
  caFile,
}: NonNullable<TestRedisOptions['tls']>): readonly string[] => [
  ...['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile],
  ...['--tls-auth-clients', 'no'],
]

async function isReady(client: Redis): Promise<boolean> {
  try {
    return (await client.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}
