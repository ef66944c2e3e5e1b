import type { ConnectionOptions } from 'node:tls'
import { ConfigError, type Gateway, type Log, type Scrubber } from 'sallyport'
import { openCertificates, type Secret, secretFrom, secretText, type WatchedFile } from 'sallyport/toolkit'
import { z } from 'zod'

export interface AddressContext {
  readonly log?: Pick<Log, 'info' | 'warn'>
  readonly scrubber?: Scrubber
  readonly path: Gateway['path']
}

/** The current address and password of the server, from the options and their files. */
export class RedisAddress {
  private readonly url: Secret | undefined
  private readonly certificates: WatchedFile | undefined
  private forget: (() => void) | undefined

  constructor(
    { url, urlFile, caCertPath }: RedisOptions,
    private readonly context: AddressContext,
  ) {
    const { log, scrubber, path } = context
    this.url = secretFrom({ value: url, file: path(urlFile) }, { log, scrubber, check: refuseFault })
    try {
      if (caCertPath !== undefined) this.certificates = openCertificates(path(caCertPath), log)
    } catch (error) {
      this.url?.close()
      throw error
    }
  }

  settings(): RedisSettings {
    const settings = settingsOf(this.url?.reveal() ?? '', this.certificates?.text)
    const { password } = settings
    const forgetLast = this.forget
    // Messages may hold the decoded password without the rest of the URL.
    this.forget = password === undefined ? undefined : this.context.scrubber?.add(password)
    forgetLast?.()
    return settings
  }

  close(): void {
    this.url?.close()
    this.certificates?.close()
    this.forget?.()
  }
}

function refuseFault(text: string, place: string): void {
  const message = urlFault(text)
  if (message !== undefined) throw new ConfigError([{ place, message }])
}

/** The address of Redis as options of a plugin; `checkRedisOptions` refines them. */
export const redisFields = {
  url: secretText()
    .optional()
    .describe('URL of the server: `redis://USER:PASSWORD@HOST:6379/0`, or `rediss://` for TLS'),
  urlFile: z
    .string()
    .min(1)
    .optional()
    .describe('file that holds the URL; each new connection uses what it holds then'),
  caCertPath: z
    .string()
    .min(1)
    .optional()
    .describe(
      'PEM certificates of the authority of the server: connects with TLS, and verifies; without it, `rediss://` verifies with the authorities of Node',
    ),
}

export interface RedisOptions {
  readonly url?: string | undefined
  readonly urlFile?: string | undefined
  readonly caCertPath?: string | undefined
}

export function checkRedisOptions({ url, urlFile }: RedisOptions, context: z.core.$RefinementCtx): void {
  const isOne = (url === undefined) !== (urlFile === undefined)
  const message = isOne
    ? urlFault(url ?? 'redis://in-the-file')
    : 'expected `url` or `urlFile`, and one of them'
  if (message !== undefined) context.addIssue({ code: 'custom', path: ['url'], message })
}

/** A connection as the driver takes it. */
export interface RedisSettings {
  readonly host: string
  readonly port: number
  readonly username?: string
  readonly password?: string
  readonly db: number
  readonly tls?: ConnectionOptions
}

const EXPECTED =
  'expected a URL such as redis://USER:PASSWORD@HOST:6379/0, or rediss:// for TLS; characters such as @ : / # % in the password are encoded, as %40'

/** The fault of a URL. The message never quotes the URL, which holds the password. */
export function urlFault(text: string): string | undefined {
  const result = parse(text)
  return typeof result === 'string' ? result : undefined
}

/** @param ca PEM certificates: with them, TLS is used whatever the URL says. */
export function settingsOf(text: string, ca: string | undefined): RedisSettings {
  const result = parse(text)
  if (typeof result === 'string') throw new Error(result)
  const { isTls, ...settings } = result
  const usesTls = isTls || ca !== undefined
  return {
    ...settings,
    ...(usesTls && { tls: { rejectUnauthorized: true, ...(ca !== undefined && { ca }) } }),
  }
}

function parse(text: string): (Omit<RedisSettings, 'tls'> & { readonly isTls: boolean }) | string {
  try {
    const url = new URL(text)
    if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') return EXPECTED
    if (url.search !== '' || url.hash !== '')
      return `the URL has a query or a fragment, which means nothing here: ${EXPECTED}`
    const db = /^\/?(\d{0,4})$/.exec(url.pathname)?.[1]
    if (db === undefined) return `the path of the URL is the number of a database: ${EXPECTED}`
    const [username, password] = [url.username, url.password].map(decodeURIComponent)
    return {
      host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? 6379 : Number(url.port),
      ...(username && { username }),
      ...(password && { password }),
      db: Number(db),
      isTls: url.protocol === 'rediss:',
    }
  } catch {
    return EXPECTED
  }
}
