import { createFetcher, type Fetch, type Gateway, insecureHttpAllowed } from 'sallyport'
import type { OAuthOptions } from './options.js'

/**
 * The way out to whatever the target names. Hosts that the operator wrote may be anywhere; those that a document
 * named must be public, or a target on the internet could make this machine ask its own neighbours (RFC 9728, 7.7).
 */
export function openWays(gateway: Gateway, options: OAuthOptions): Fetch {
  const { target, issuer, authorizationUrl, tokenUrl, allowPrivateIP } = options
  const common = { allowInsecureHttp: insecureHttpAllowed(), scrubber: gateway.scrubber, log: gateway.log }
  const anywhere = createFetcher({ ...common, allowPrivate: true })
  const guarded = createFetcher({ ...common, allowPrivate: false })
  gateway.onStop(async () => void (await Promise.all([anywhere.close(), guarded.close()])))

  const written = [target, issuer, authorizationUrl, tokenUrl].flatMap((text) =>
    text !== undefined && URL.canParse(text) ? [new URL(text)] : [],
  )
  const hosts = new Set(written.map(({ hostname }) => hostname))
  const here = isThisMachine(new URL(target))
  const mayBeAnywhere = (url: URL): boolean =>
    allowPrivateIP || hosts.has(url.hostname) || (here && isThisMachine(url))

  return (url, init) => {
    const to = new URL(url)
    return (mayBeAnywhere(to) ? anywhere : guarded).fetch(to, init)
  }
}

const isThisMachine = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
