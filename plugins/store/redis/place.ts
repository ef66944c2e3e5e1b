import { ConfigError, type Gateway, type Log, type Scrubber } from 'sallyport'
import { openCertificates, type Secret, secretFrom, type WatchedFile } from 'sallyport/toolkit'
import type { RedisOptions } from './options.js'
import { type RedisSettings, settingsOf, urlFault } from './redis-url.js'

export interface PlaceContext {
  readonly log?: Pick<Log, 'info' | 'warn'>
  readonly scrubber?: Scrubber
  readonly path: Gateway['path']
}

/** Where the server is, and with which password, as its files say at the time. */
export class RedisPlace {
  private readonly url: Secret | undefined
  private readonly certificates: WatchedFile | undefined
  private forget: (() => void) | undefined

  constructor(
    { url, urlFile, caCertPath }: RedisOptions,
    private readonly context: PlaceContext,
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
    // Messages may have it without the rest of the URL, and decoded.
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
