import type { Client, ClientBase } from 'pg'
import type { ConfigError } from 'sallyport'
import { Sequence, within } from 'sallyport/toolkit'
import { CONNECT_LIMIT, type Connector } from './connector.js'
import { databaseFailure, refused, tooSlow, unavailable } from './failure.js'
import { inTransaction, READ_LIMIT, type Statements, type TransactionOptions } from './transaction.js'

/** How often a connection that waits checks that the server is still there. */
const CHECK_EVERY = 5_000
const CHECK_LIMIT = 5_000

// A suspended process, or a machine that is gone, holds its locks until the server notices. An older server does not
// know all of these settings.
const SETTINGS = Object.entries({
  idle_session_timeout: 4 * CHECK_EVERY,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
}).map(([name, value]) => `('${name}', '${value}')`)

/**
 * A connection that stays open, for locks and LISTEN, which the server binds to a connection. Statements run one after
 * the other. The session ends when the server no longer answers.
 */
export class Session {
  private readonly controller = new AbortController()
  private readonly sequence = new Sequence()
  private readonly timer: NodeJS.Timeout

  static async open(connector: Connector, schema: string): Promise<Session> {
    const connect = async (client: Client): Promise<Client> => {
      await within(CONNECT_LIMIT, client.connect(), tooSlow)
      return client
    }
    const client = connector.client('direct')
    try {
      await connect(client)
      const checked = refuseTransactionPooler(client, () => connect(connector.client('direct')))
      await within(READ_LIMIT, checked, tooSlow)
      const backend = await within(READ_LIMIT, backendOf(client), tooSlow)
      const session = new Session(client, schema, backend)
      await session.run(`select set_config(name, wish, false) from (values ${SETTINGS}) as wanted (name, wish)
        join pg_settings using (name)`)
      return session
    } catch (error) {
      void client.end().catch(() => {})
      throw databaseFailure(error)
    }
  }

  private constructor(
    private readonly client: Client,
    private readonly schema: string,
    private readonly backend: unknown,
  ) {
    client.once('end', () => this.abort())
    client.once('error', () => this.abort())
    this.timer = setInterval(
      () => void this.runBound('select $1 = pg_backend_pid() as bound', [], CHECK_LIMIT).catch(() => {}),
      CHECK_EVERY,
    ).unref()
  }

  /** Aborted when the connection has ended. */
  get ended(): AbortSignal {
    return this.controller.signal
  }

  onNotification(listener: (channel: string) => void): void {
    this.client.on('notification', ({ channel }) => listener(channel))
  }

  /** A statement outside of a transaction. */
  async run(
    text: string,
    values: readonly unknown[] = [],
    limit = READ_LIMIT,
  ): Promise<Record<string, unknown>[]> {
    return this.inTurn(async () => {
      try {
        return (await within(limit, this.client.query(text, [...values]), tooSlow)).rows
      } catch (error) {
        // After any failure it is unknown whether the server ran the statement.
        this.end()
        throw databaseFailure(error)
      }
    })
  }

  /**
   * Runs a statement whose `$1` is the server process of this connection, and whose column `bound` says whether it ran
   * there. If not, an unrecognized pooler is in between, and the session ends.
   */
  async runBound(
    text: string,
    values: readonly unknown[] = [],
    limit?: number,
  ): Promise<Record<string, unknown>[]> {
    const rows = await this.run(text, [this.backend, ...values], limit)
    if (rows[0]?.['bound'] === true) return rows
    this.end()
    throw transactionPooler()
  }

  transaction<T>(work: (statements: Statements) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return this.inTurn(() => inTransaction(this.client, this.schema, work, () => this.end(), options))
  }

  end(): void {
    this.abort()
    void this.client.end().catch(() => {})
  }

  private abort(): void {
    clearInterval(this.timer)
    this.controller.abort()
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.sequence.run(() => {
      if (this.ended.aborted) throw unavailable('the connection was lost')
      return work()
    })
  }
}

const ROUNDS = 3

/**
 * Whether a pooler gives the connection of one client to another between two transactions. Locks and LISTEN belong to a
 * connection of the server, so another client would have them.
 */
export async function isTransactionPooler(first: ClientBase, second: ClientBase): Promise<boolean> {
  const own = await backendOf(first)
  for (let round = 0; round < ROUNDS; round++) {
    if ((await backendOf(first)) !== own) return true
    // A pooler that reuses the last connection returns the first client's; one that rotates returns another.
    await second.query('begin')
    const isShared = (await backendOf(second)) === own || (await backendOf(first)) !== own
    await second.query('rollback')
    if (isShared) return true
  }
  return false
}

/** The server process that answers this connection. */
async function backendOf(client: ClientBase): Promise<unknown> {
  return (await client.query('select pg_backend_pid() as pid')).rows[0]?.pid
}

/** Throws when `client` is behind a pooler in transaction mode. */
async function refuseTransactionPooler(client: Client, connect: () => Promise<Client>): Promise<void> {
  const second = await connect()
  try {
    if (!(await isTransactionPooler(client, second))) return
    throw transactionPooler()
  } finally {
    void second.end().catch(() => {})
  }
}

const transactionPooler = (): ConfigError =>
  refused(
    'directUrl',
    '`url` leads to a pooler in transaction mode, where locks and notifications are lost: expected in `directUrl` the URL of the server itself, or of a pooler in session mode',
  )
