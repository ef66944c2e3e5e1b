import { Socket } from 'node:net'
import type { Client, ClientConfig } from 'pg'
import { ConfigError, type Gateway, type Log, type Scrubber } from 'sallyport'
import {
  formatHostPort,
  isInLocalNetwork,
  openCertificates,
  type Secret,
  secretFrom,
} from 'sallyport/toolkit'
import { refused } from './failure.js'
import { connectionFault, connectionSettings, type DatabaseOptions } from './options.js'

/** Milliseconds for opening a connection. */
export const CONNECT_LIMIT = 2_000

interface ConnectorContext {
  /** Without a log, only thrown errors report anything. */
  readonly log?: Pick<Log, 'info' | 'warn'>
  readonly scrubber?: Scrubber | undefined
  readonly path: Gateway['path']
}

/** `direct` leads to the server itself, past a pooler. */
export type Route = 'pooled' | 'direct'

/** Makes clients that connect with the current URL: the next client uses a password that changed in its file. */
export class Connector {
  private readonly sockets = new Set<Socket>()
  private readonly passwords = new Map<string, () => void>()

  static async open(
    { url, urlFile, directUrl, caCertPath }: DatabaseOptions,
    { log, scrubber, path }: ConnectorContext,
  ): Promise<Connector> {
    const driver = await loadDriver()
    const check = (text: string, place: string): void => {
      const message = connectionFault(text)
      if (message !== undefined) throw refused(place, message)
    }
    const closing: (() => void)[] = []
    try {
      const secret = secretFrom({ value: url, file: path(urlFile) }, { log, scrubber, check })
      if (secret === undefined) throw refused('url', 'expected `url` or `urlFile`')
      closing.push(() => secret.close())
      const direct = secretFrom({ value: directUrl }, { scrubber, check })
      closing.push(() => direct?.close())
      const certificates = caCertPath === undefined ? undefined : openCertificates(path(caCertPath), log)
      closing.push(() => certificates?.close())
      const urls = { pooled: secret, direct: direct ?? secret }
      const connector = new Connector(driver, urls, () => certificates?.text, scrubber, closing)
      if (connector.describe('pooled').isPlain || connector.describe('direct').isPlain)
        log?.warn(
          'what is sent to the database crosses a network in plain text: give caCertPath, or sslmode=verify-full in the URL',
        )
      return connector
    } catch (error) {
      for (const close of closing) close()
      throw error
    }
  }

  private constructor(
    readonly driver: Driver,
    private readonly urls: Readonly<Record<Route, Secret>>,
    private readonly certificates: () => string | undefined,
    private readonly scrubber: Scrubber | undefined,
    private readonly closing: readonly (() => void)[],
  ) {}

  /** The parts of a URL that are no secret. */
  describe(route: Route) {
    const { user, host, port, database, ssl } = connectionSettings(
      this.urls[route].reveal(),
      this.certificates(),
    )
    const url = `http://${formatHostPort({ host, port })}`
    const isLocal = host.startsWith('/') || (URL.canParse(url) && isInLocalNetwork(new URL(url)))
    return {
      user: user ?? 'of this process',
      place: `${database ?? user ?? 'the database'} at ${formatHostPort({ host, port })}`,
      /** Whether, by the URL, the connection crosses a network in plain text. */
      isPlain: ssl === false && isLocal !== true,
    }
  }

  client(route: Route): Client {
    const client = new this.driver.Client(this.settings(route))
    // An `error` event without a listener ends the process. The `end` event and failing statements report the cause.
    client.on('error', () => {})
    return client
  }

  /** A class of clients, for a pool. */
  clientClass(route: Route): new () => Client {
    const settings = () => this.settings(route)
    return class extends this.driver.Client {
      constructor() {
        super(settings())
        this.on('error', () => {})
      }
    }
  }

  /** Ends every connection, also to a server that does not answer. */
  close(): void {
    for (const socket of this.sockets) socket.destroy()
    for (const close of [...this.closing, ...this.passwords.values()]) close()
  }

  private settings(route: Route): ClientConfig {
    const { password, ...settings } = connectionSettings(this.urls[route].reveal(), this.certificates())
    // The scrubber knows the URL, but not yet the password alone.
    if (password !== '' && this.scrubber !== undefined && !this.passwords.has(password))
      this.passwords.set(password, this.scrubber.add(password))
    return {
      ...settings,
      // As a function, so that the driver neither prints the password nor searches the user's files for one.
      password: () => password,
      connectionTimeoutMillis: CONNECT_LIMIT,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      // `bigint` holds revisions and levels, which are far below 2⁵³.
      types: {
        getTypeParser: ((id: number, format: never) =>
          id === 20 ? Number : this.driver.types.getTypeParser(id, format)) as never,
      },
      stream: () => this.socket(),
    }
  }

  private socket(): Socket {
    const socket = new Socket()
    this.sockets.add(socket)
    socket.once('close', () => this.sockets.delete(socket))
    return socket
  }
}

type Driver = typeof import('pg').default

/** The package `pg` is optional: it is loaded when a list stores in PostgreSQL. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    const message = 'the package pg is not installed, which connects to PostgreSQL: `npm install pg@8`'
    throw new ConfigError([{ place: 'pg', message }], { cause })
  }
}
