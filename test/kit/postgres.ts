import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import pg from 'pg'
import { eventually } from './captured-log.js'
import { freePort } from './free-port.js'

const RELEASES = '/usr/lib/postgresql'
const PGBOUNCER = '/usr/sbin/pgbouncer'

const release = (() => {
  try {
    return readdirSync(RELEASES).toSorted((a, b) => Number(b) - Number(a))[0]
  } catch {
    return undefined
  }
})()
const missing = (program: string): boolean => {
  try {
    return readFileSync(program).length === 0
  } catch {
    return true
  }
}

/** Why a test cannot have PostgreSQL; undefined when it can. */
export const noPostgres: string | undefined =
  release === undefined ? 'PostgreSQL is not installed' : undefined
export const noPooler: string | undefined =
  noPostgres ?? (missing(PGBOUNCER) ? 'PgBouncer is not installed' : undefined)

/** A database with a user that owns it. */
export interface TestDatabase {
  /** The URL for its owner, over TCP. */
  readonly url: string
  readonly name: string
  /** The URL for the owner, or for another user that `role` created. */
  urlOf(user: string): string
  /** Creates another user, without rights, and returns its name. Every user has the same password. */
  role(): Promise<string>
  /** Runs a query as superuser. */
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
}

interface ClusterOptions {
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>
  /** A directory instead of a temporary one, such as a small disk. */
  readonly directory?: string
}

/** The password of every user that a test makes. */
export const PASSWORD = 'pass-of/tests'

/**
 * A PostgreSQL server for the tests of one file: started for the first database, and removed after the last test. When
 * root runs the tests it runs as the user `postgres`, since it refuses root.
 */
export class PostgresCluster {
  private readonly ids = idsOfUser()
  private readonly folder: string
  private readonly isTemporary: boolean
  private ready: Promise<void> | undefined
  private server: ChildProcess | undefined
  private readonly poolers: ChildProcess[] = []
  private output = ''
  private created = 0
  /** Set once there is a database. */
  port = 0

  constructor(private readonly options: ClusterOptions = {}) {
    this.isTemporary = options.directory === undefined
    this.folder = options.directory ?? mkdtempSync(join(tmpdir(), 'sallyport-pg-'))
    after(() => this.remove())
  }

  async database(): Promise<TestDatabase> {
    this.ready ??= this.create()
    await this.ready
    const name = `test_${++this.created}`
    await this.createRole(name)
    await this.query('postgres', `create database ${name} owner ${name}`)
    const urlOf = (user: string) =>
      `postgres://${user}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${name}`
    return {
      name,
      url: urlOf(name),
      urlOf,
      role: async () => {
        const role = `role_${++this.created}`
        await this.createRole(role)
        return role
      },
      query: (text, values) => this.query(name, text, values),
    }
  }

  /** Stops the server as a power failure does; the disk keeps its content. */
  async stop(): Promise<void> {
    const { server } = this
    if (server === undefined) return
    this.server = undefined
    // A full disk may have ended it already.
    if (server.exitCode !== null || server.signalCode !== null) return
    const exit = once(server, 'exit')
    this.signal(server, 'SIGCONT')
    server.kill('SIGQUIT')
    await exit
  }

  async start(): Promise<void> {
    const settings = Object.entries({
      port: String(this.port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.folder,
      fsync: 'off',
      max_connections: '60',
      ...this.options.settings,
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const server = this.spawn(`${RELEASES}/${release}/bin/postgres`, [
      '-D',
      join(this.folder, 'data'),
      ...settings,
    ])
    this.server = server
    await eventually(async () => {
      assert.equal(server.exitCode, null, this.output)
      return (await this.query('postgres', 'select 1').catch(() => undefined)) !== undefined
    }, 30)
  }

  /** Stops its processes until `resume`: the kernel accepts connections, and the server does not respond. */
  pause(): void {
    if (this.server !== undefined) this.signal(this.server, 'SIGSTOP')
  }

  resume(): void {
    if (this.server !== undefined) this.signal(this.server, 'SIGCONT')
  }

  /** Ends all connections to this database, and returns how many there were. */
  async terminateBackends({ name }: TestDatabase, where = 'true'): Promise<number> {
    const ended = await this.query(
      'postgres',
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and ${where}`,
      [name],
    )
    return ended.length
  }

  /** From now on the server accepts connections with TLS, and still without. */
  async secure({ cert, key }: { readonly cert: string; readonly key: string }): Promise<void> {
    for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
      const path = join(this.folder, 'data', name)
      writeFileSync(path, text)
      chmodSync(path, 0o600)
      this.chownToPostgres(path)
    }
    await this.query('postgres', 'alter system set ssl = on')
    await this.query('postgres', 'select pg_reload_conf()')
    await eventually(async () => {
      const [row] = await this.query<{ ssl: string }>('postgres', 'show ssl')
      return row?.ssl === 'on'
    })
  }

  /** Starts PgBouncer in transaction mode in front of a database, and returns the URL that leads through it. */
  async pooler(
    database: TestDatabase,
    moreSettings: Readonly<Record<string, string | number>> = {},
  ): Promise<string> {
    const port = await freePort()
    const poolerFolder = mkdtempSync(join(this.folder, 'pooler-'))
    const users = join(poolerFolder, 'users')
    writeFileSync(users, `"${database.name}" "${PASSWORD}"\n`)
    const file = join(poolerFolder, 'pgbouncer.ini')
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      pool_mode: 'transaction',
      auth_type: 'scram-sha-256',
      auth_file: users,
      default_pool_size: 4,
      ...moreSettings,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
    writeFileSync(
      file,
      ['[databases]', `* = host=127.0.0.1 port=${this.port}`, '[pgbouncer]', ...lines, ''].join('\n'),
    )
    for (const path of [poolerFolder, users, file]) this.chownToPostgres(path)
    const pooler = this.spawn(PGBOUNCER, [file])
    this.poolers.push(pooler)
    await eventually(() => {
      assert.equal(pooler.exitCode, null, this.output)
      return isOpen(port)
    })
    return database.url.replace(`:${this.port}/`, `:${port}/`)
  }

  private async create(): Promise<void> {
    this.chownToPostgres(this.folder)
    this.port = await freePort()
    const argv = ['-D', join(this.folder, 'data'), '-U', 'postgres', '-N', '-E', 'UTF8', '--no-locale']
    const auth = ['--auth-local=trust', '--auth-host=scram-sha-256']
    const making = this.spawn(`${RELEASES}/${release}/bin/initdb`, [...argv, ...auth])
    const [code] = await once(making, 'exit')
    assert.equal(code, 0, this.output)
    await this.start()
  }

  private async createRole(name: string): Promise<void> {
    await this.query('postgres', `create role ${name} login password '${PASSWORD}'`)
  }

  private async query<Row extends pg.QueryResultRow>(
    database: string,
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    const client = new pg.Client({ host: this.folder, port: this.port, user: 'postgres', database })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  private async remove(): Promise<void> {
    for (const pooler of this.poolers.splice(0)) {
      if (pooler.exitCode !== null) continue
      const exit = once(pooler, 'exit')
      pooler.kill('SIGKILL')
      await exit
    }
    await this.stop()
    if (this.isTemporary) rmSync(this.folder, { recursive: true, force: true })
  }

  /** Starts a process that the kernel ends when this process ends. */
  private spawn(program: string, argv: readonly string[]): ChildProcess {
    const { ids } = this
    const user = ids === undefined ? [] : [`--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups']
    const child = spawn('setpriv', ['--pdeathsig=QUIT', ...user, program, ...argv], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        this.output = (this.output + String(chunk)).slice(-10_000)
      })
    return child
  }

  private chownToPostgres(path: string): void {
    if (this.ids !== undefined) chownSync(path, this.ids.uid, this.ids.gid)
  }

  private signal({ pid = 0 }: ChildProcess, signal: NodeJS.Signals): void {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    for (const each of [pid, ...children.map(Number)]) {
      try {
        if (each > 0) process.kill(each, signal)
      } catch {
        // This backend has just ended.
      }
    }
  }
}

function idsOfUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (noPostgres !== undefined || process.getuid?.() !== 0) return undefined
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
