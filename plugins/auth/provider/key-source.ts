import type { LocalJWKSet } from 'jose'
import { createLocalJWKSet } from 'jose/jwks/local'
import { type Fetch, GatewayError, type IssuerMetadata, type JsonObject, jsonObject } from 'sallyport'
import { isKeySet, keysUrlIn } from './key-documents.js'

/** One reading of a provider's keys. */
export interface FetchedKeys {
  readonly keys: LocalJWKSet
  /** The same text, the same keys. */
  readonly text: string
  readonly ids: readonly string[]
  /** Milliseconds after which they are to be fetched again. */
  readonly freshFor: number
}

interface Places {
  readonly issuer: string
  readonly jwksUrl: string | undefined
  readonly fetch: Fetch
  /** Asked in their order when no URL was configured. */
  readonly metadata: () => readonly IssuerMetadata[]
  /** Learns where discovery found the keys. */
  readonly onDiscovered: (url: string) => void
}

const MINUTE = 60_000
const DISCOVERY_HOLDS = 60 * MINUTE
const FRESH = { least: MINUTE, usual: 10 * MINUTE, most: 60 * MINUTE }

/** Where a provider's keys come from: the URL that was configured, or the one its metadata names. */
export class KeySource {
  private discovered: { readonly url: string; readonly until: number } | undefined

  constructor(private readonly places: Places) {}

  async read(): Promise<FetchedKeys> {
    try {
      return await this.fetchKeys(this.places.jwksUrl ?? (await this.discover()))
    } catch (error) {
      // The keys may have moved.
      this.discovered = undefined
      throw error
    }
  }

  private async discover(): Promise<string> {
    if (this.discovered !== undefined && this.discovered.until > Date.now()) return this.discovered.url
    const { issuer, onDiscovered } = this.places
    const url = keysUrlIn(await this.metadata(), issuer)
    onDiscovered(url)
    this.discovered = { url, until: Date.now() + DISCOVERY_HOLDS }
    return url
  }

  private async metadata(): Promise<JsonObject> {
    const { issuer, fetch, metadata } = this.places
    for (const read of metadata()) {
      const found = await read(issuer, fetch)
      if (found?.['issuer'] === issuer) return found
      if (found !== undefined)
        throw new GatewayError('ISSUER_MISMATCH', `the metadata found for ${issuer} is of another issuer`)
    }
    throw new GatewayError('DISCOVERY_FAILED', `nothing in the list knows of ${issuer}`)
  }

  private async fetchKeys(url: string): Promise<FetchedKeys> {
    const response = await this.places.fetch(url, {
      headers: { accept: 'application/jwk-set+json, application/json' },
    })
    const { origin } = new URL(url)
    if (response.status !== 200)
      throw new GatewayError('KEYS_FAILED', `the keys at ${origin} failed: status ${response.status}`)
    const text = await response.text()
    const set = jsonObject(text)
    if (!isKeySet(set))
      throw new GatewayError('KEYS_MALFORMED', `the answer of ${origin} is not a set of keys`)
    return {
      keys: createLocalJWKSet(set),
      text,
      ids: set.keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])),
      freshFor: freshFor(response.headers.get('cache-control') ?? ''),
    }
  }
}

/** Milliseconds by `Cache-Control`, within bounds: no flood by `no-store`, and no key for a year after it leaked. */
function freshFor(cacheControl: string): number {
  const { least, usual, most } = FRESH
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return least
  const seconds = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return seconds === undefined ? usual : Math.min(Math.max(Number(seconds) * 1000, least), most)
}
