import type { Client, ClientBase } from 'pg'
import type { ConfigError } from 'sallyport'
import { refused } from './failure.js'

const ROUNDS = 3

/**
 * Whether a pooler gives the connection of one client to another between two transactions. Locks and LISTEN belong to a
 * connection of the server, so they would be somebody else's.
 */
export async function isTransactionPooler(first: ClientBase, second: ClientBase): Promise<boolean> {
  const own = await backendOf(first)
  for (let round = 0; round < ROUNDS; round++) {
    if ((await backendOf(first)) !== own) return true
    // A pooler that takes the connection that was used last takes the first one's; one that takes turns gives it another.
    await second.query('begin')
    const isShared = (await backendOf(second)) === own || (await backendOf(first)) !== own
    await second.query('rollback')
    if (isShared) return true
  }
  return false
}

/** The process of the server that answers this connection. */
export async function backendOf(client: ClientBase): Promise<unknown> {
  return (await client.query('select pg_backend_pid() as pid')).rows[0]?.pid
}

/** Throws when `client` is behind a pooler in transaction mode. */
export async function refuseTransactionPooler(client: Client, connect: () => Promise<Client>): Promise<void> {
  const second = await connect()
  try {
    if (!(await isTransactionPooler(client, second))) return
    throw transactionPooler()
  } finally {
    void second.end().catch(() => {})
  }
}

export const transactionPooler = (): ConfigError =>
  refused(
    'directUrl',
    '`url` leads to a pooler in transaction mode, where locks and notifications are lost: expected in `directUrl` the URL of the server itself, or of a pooler in session mode',
  )
