import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { freePort } from '#kit/free-port.js'
import type { TestDatabase } from '#kit/postgres.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'

/** Seconds that a start, or a recovery, may take while the machine is busy. */
export const TIMEOUT = 60
const PASSPHRASE = 'a passphrase that the replicas share'

/** A gateway in a process of its own, with a host name of its own. It can be started again. */
export class Replica {
  private running: StartedProgram | undefined
  /** Its output since its last start. */
  output: StartedProgram['output'] = { stdout: '', stderr: '' }
  private readonly urlFile: string
  private readonly home: string

  private constructor(
    private readonly t: TestContext,
    readonly name: string,
    private readonly argv: readonly string[],
    /** `host:port` of both ports, the same after each start. */
    readonly main: string,
    readonly internal: string,
    settings: (replica: Replica) => object,
  ) {
    this.home = folder(t)
    this.urlFile = join(this.home, 'database-url')
    writeFileSync(join(this.home, 'config.json'), JSON.stringify(settings(this)))
  }

  /** @param balancer the URL by which callers reach it */
  static async registry(t: TestContext, name: string, source: string, balancer?: string): Promise<Replica> {
    return new Replica(t, name, ['registry'], await freeAddress(), await freeAddress(), (replica) => ({
      address: replica.main,
      internalAddress: replica.internal,
      drainDelay: '2s',
      auth: { mode: 'anonymous' },
      allowedHosts: balancer === undefined ? [] : [new URL(balancer).host],
      store: replica.database,
      stateDirectory: './state',
      // Only `POST /sync` makes it read a change.
      sources: [{ name: 'upstream', http: { url: source, every: '1h', allowPrivateIP: true } }],
    }))
  }

  static async proxy(t: TestContext, name: string, target: string): Promise<Replica> {
    return new Replica(t, name, ['proxy', name], await freeAddress(), await freeAddress(), (replica) => ({
      host: replica.main.split(':')[0],
      port: Number(replica.main.split(':')[1]),
      internalAddress: replica.internal,
      targetUri: target,
      remoteAuth: true,
      remoteAuthSkipBrowser: true,
      remoteAuthCallbackPort: 0,
      plugins: [{ use: 'state/postgres', with: replica.database.postgres, replaces: 'state/sqlite' }],
    }))
  }

  private get database() {
    return { postgres: { urlFile: this.urlFile } }
  }

  /** Sets the database that it uses from now on; its name is the name of its connections. */
  useDatabase(url: string): void {
    writeFileSync(this.urlFile, `${url}?application_name=${this.name}`)
  }

  start(): StartedProgram {
    this.running = startedProgram(this.t, [...this.argv, '--config', join(this.home, 'config.json')], {
      cwd: this.home,
      environment: { XDG_STATE_HOME: join(this.home, 'xdg'), SALLYPORT_STATE_PASSPHRASE: PASSPHRASE },
      hostname: this.name,
      patience: TIMEOUT,
    })
    this.output = this.running.output
    return this.running
  }

  /** Returns its exit code, or `null` when the signal ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.running?.process.kill(signal)
    return this.running?.ended() ?? null
  }

  /** Resolves when its readiness endpoint responds with 200. */
  async ready(): Promise<void> {
    await eventually(async () => (await this.readiness()) === 200, TIMEOUT).catch((error: Error) => {
      throw new Error(`${this.name}: ${error.message}\n${this.output.stderr.slice(-5_000)}`)
    })
  }

  async readiness(): Promise<number | undefined> {
    return (await fetch(`http://${this.internal}/readiness`).catch(() => undefined))?.status
  }

  /** Requests a sync, and returns the status; undefined without a response. */
  async sync(): Promise<number | undefined> {
    const asking = { method: 'POST', signal: AbortSignal.timeout(20_000) }
    return (await fetch(`http://${this.internal}/sync/upstream`, asking).catch(() => undefined))?.status
  }
}

const freeAddress = async (): Promise<string> => `127.0.0.1:${await freePort()}`

/** Migrates a database to the schema of this version, as an operator does. */
export async function migrate(t: TestContext, url: string): Promise<string> {
  const list = [{ use: 'state/postgres', with: { url } }]
  const home = folder(t, { 'list.json': JSON.stringify(list) })
  const migrating = startedProgram(t, ['migrate', '--config', join(home, 'list.json')], {
    environment: { SALLYPORT_STATE_PASSPHRASE: PASSPHRASE },
  })
  const code = await migrating.ended()
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${migrating.output.stderr}`)
  return migrating.output.stdout
}

/** The names of the replicas that hold an advisory lock: a registry holds one for each source that it leads. */
export async function lockHolders(database: TestDatabase): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and a.datname = $1`,
    [database.name],
  )
  return rows.map(({ name }) => name)
}
