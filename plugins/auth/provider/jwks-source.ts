import { createLocalJWKSet } from 'jose/jwks/local'
import { type Fetch, GatewayError, type IssuerMetadata } from 'sallyport'
import { isJsonObject, type JsonObject, jsonObject } from 'sallyport/toolkit'
import { ProviderKeys } from './signature.js'

/** The result of one fetch. */
export interface FetchedKeys {
  readonly keys: ProviderKeys
  /** The response body, by which changed keys are recognized. */
  readonly text: string
  readonly ids: readonly string[]
  /** Milliseconds until the next fetch. */
  readonly freshFor: number
}

/** Kubernetes refuses requests that accept JSON alone. */
export const ACCEPT_KEYS = { accept: 'application/jwk-set+json, application/json' }

interface SourceOptions {
  readonly issuer: string
  readonly jwksUrl: string | undefined
  readonly fetch: Fetch
  /** Used in this order when no URL is configured. */
  readonly metadata: () => readonly IssuerMetadata[]
  /** Called with the URL of the keys that discovery found. */
  readonly onDiscovered: (url: string) => void
}

const MINUTE = 60_000
const DISCOVERY_TTL = 60 * MINUTE
const TTL = { min: MINUTE, standard: 10 * MINUTE, max: 60 * MINUTE }

/** Fetches the keys (JWKS) of a provider, from the configured URL or the one in its metadata. */
export class JwksSource {
  private discovered: { readonly url: string; readonly until: number } | undefined

  constructor(private readonly options: SourceOptions) {}

  async read(): Promise<FetchedKeys> {
    try {
      return await this.fetchKeys(this.options.jwksUrl ?? (await this.discover()))
    } catch (error) {
      // The URL of the keys may have changed.
      this.discovered = undefined
      throw error
    }
  }

  private async discover(): Promise<string> {
    if (this.discovered !== undefined && this.discovered.until > performance.now()) return this.discovered.url
    const { issuer, onDiscovered } = this.options
    const url = keysUrlIn(await this.metadata(), issuer)
    onDiscovered(url)
    this.discovered = { url, until: performance.now() + DISCOVERY_TTL }
    return url
  }

  private async metadata(): Promise<JsonObject> {
    const { issuer, fetch, metadata } = this.options
    for (const read of metadata()) {
      const found = await read(issuer, fetch)
      if (found?.['issuer'] === issuer) return found
      if (found !== undefined)
        throw new GatewayError('ISSUER_MISMATCH', `the metadata at ${issuer} names another issuer`)
    }
    throw new GatewayError('DISCOVERY_FAILED', `no metadata was found for ${issuer}`)
  }

  private async fetchKeys(url: string): Promise<FetchedKeys> {
    const response = await this.options.fetch(url, {
      headers: ACCEPT_KEYS,
    })
    const { origin } = new URL(url)
    if (response.status !== 200)
      throw new GatewayError('KEYS_FAILED', `fetching keys from ${origin} failed: status ${response.status}`)
    const text = await response.text()
    const set = jsonObject(text)
    if (!isKeySet(set)) throw new GatewayError('KEYS_MALFORMED', `the response of ${origin} is not a JWKS`)
    return {
      keys: new ProviderKeys(createLocalJWKSet(set)),
      text,
      ids: set.keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])),
      freshFor: freshFor(response.headers.get('cache-control') ?? ''),
    }
  }
}

/**
 * Milliseconds by `Cache-Control`, within bounds: `no-store` must not flood the provider, nor a leaked key last a year.
 */
function freshFor(cacheControl: string): number {
  const { min, standard, max } = TTL
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return min
  const seconds = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return seconds === undefined ? standard : Math.min(Math.max(Number(seconds) * 1000, min), max)
}

function keysUrlIn({ jwks_uri: url }: JsonObject, issuer: string): string {
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw new GatewayError('DISCOVERY_MALFORMED', `the metadata of ${issuer} names no jwks_uri`)
}

/** A JWKS as far as jose needs it. */
function isKeySet(value: unknown): value is { readonly keys: JsonObject[] } {
  return isJsonObject(value) && Array.isArray(value['keys']) && value['keys'].every(isJsonObject)
}
