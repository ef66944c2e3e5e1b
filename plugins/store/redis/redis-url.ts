import type { ConnectionOptions } from 'node:tls'

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

/** What is wrong with a URL, without quoting it: it holds the password. */
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
