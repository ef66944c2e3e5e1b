import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { ConfigError } from 'sallyport'
import { waitAtMost, within } from 'sallyport/toolkit'
import { TOO_SLOW } from '../network-reasons.js'
import type { RedisSettings } from './address.js'
import { replyCode } from './failure.js'

/** Milliseconds for a connection, TLS and password included, and for one command. */
export const CONNECT_LIMIT = 2_000

const CLOSE_LIMIT = 500

export const tooSlow = (): Error => new Error(`timed out: ${TOO_SLOW}`)

/** One connection, without retries: the caller decides when and where to try again. */
export async function openClient(driver: Driver, settings: RedisSettings): Promise<Redis> {
  const client = new driver({
    ...settings,
    // The oldest protocol, which proxies support too.
    protocol: 2,
    lazyConnect: true,
    retryStrategy: null,
    connectTimeout: CONNECT_LIMIT,
    disconnectTimeout: CLOSE_LIMIT,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    // The driver would write to the console.
    enableReadyCheck: false,
    connectionName: 'sallyport',
    disableClientInfo: true,
  })
  let failure: unknown
  client.on('error', (error) => {
    // The driver sends SELECT after the password, but reports its failure first.
    if (failure === undefined || replyCode(error) === 'WRONGPASS') failure = error
  })
  const first = async (): Promise<void> => {
    await client.connect()
    await client.ping()
  }
  try {
    await within(CONNECT_LIMIT, first(), tooSlow)
    return client
  } catch (error) {
    await closeClient(client)
    throw failure ?? error
  }
}

/** Throws the server's reply when it refuses writes. Uses only commands that the plugin needs anyway. */
export async function tryWrite(client: Redis, prefix: string): Promise<void> {
  await Promise.all([client.set(`${prefix}probe`, '1', 'PX', 10_000), client.eval('return 1', 0)])
}

/** Settles when the socket is closed. */
export async function closeClient(client: Redis): Promise<void> {
  if (client.status === 'end') return
  const ended = once(client, 'end')
  client.disconnect()
  await waitAtMost(2 * CLOSE_LIMIT, ended)
}

export type Driver = typeof import('ioredis').Redis

/** The package `ioredis` is optional: it is loaded when a list uses Redis. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('ioredis')).Redis
  } catch (cause) {
    const message = 'the package ioredis is not installed, which connects to Redis: `npm install ioredis@6`'
    throw new ConfigError([{ place: 'ioredis', message }], { cause })
  }
}
