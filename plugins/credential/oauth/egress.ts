import type { Fetch, Gateway } from 'sallyport'
import { createFetcher, insecureHttpAllowed, isLoopbackHost } from 'sallyport/toolkit'
import type { OAuthOptions } from './options.js'

/** Milliseconds for a request, with its response. */
export const REQUEST_LIMIT = 5_000

/**
 * Fetches from the target and the hosts that its metadata names. Hosts in the options may have private addresses. Hosts
 * from metadata must be public: otherwise a target on the internet could make this machine send requests to its own
 * network (RFC 9728, 7.7).
 */
export function openEgress(gateway: Gateway, options: OAuthOptions): Fetch {
  const { target, issuer, authorizationUrl, tokenUrl, allowPrivateIP } = options
  const common = {
    allowInsecureHttp: insecureHttpAllowed(),
    timeout: REQUEST_LIMIT,
    scrubber: gateway.scrubber,
    log: gateway.log,
  }
  const unrestricted = createFetcher({ ...common, allowPrivate: true })
  const publicOnly = createFetcher({ ...common, allowPrivate: false })
  gateway.onStop(async () => void (await Promise.all([unrestricted.close(), publicOnly.close()])))

  const configured = [target, issuer, authorizationUrl, tokenUrl].flatMap((text) =>
    text !== undefined && URL.canParse(text) ? [new URL(text)] : [],
  )
  const hosts = new Set(configured.map(({ hostname }) => hostname))
  const isLocalTarget = isLoopback(new URL(target))
  const mayBePrivate = (url: URL): boolean =>
    allowPrivateIP || hosts.has(url.hostname) || (isLocalTarget && isLoopback(url))

  return (url, init) => {
    const parsed = new URL(url)
    return (mayBePrivate(parsed) ? unrestricted : publicOnly).fetch(parsed, init)
  }
}

const isLoopback = ({ hostname }: URL): boolean => isLoopbackHost(hostname.replaceAll(/[[\]]/g, ''))
