import { UpstreamError } from '../contract/errors.js'
import { addressIn, isPublicAddress, namesLoopback } from '../toolkit/address.js'
import { egressFailure, errorWithCode } from './failure.js'

export interface UrlRules {
  readonly allowPrivate?: boolean | undefined
  readonly allowInsecureHttp?: boolean | undefined
}

export function parsedUrl(written: string | URL): URL {
  try {
    return new URL(written)
  } catch {
    // Without the cause, which quotes the URL with its query.
    throw new UpstreamError('EGRESS_URL_INVALID', 'request failed: its URL cannot be parsed')
  }
}

/**
 * Refuses URLs that break a rule by themselves. It checks an IP literal, because no lookup happens for it, and
 * because with a proxy no other check would see it; the lookup checks a name again by its addresses.
 */
export function refuseForbidden(
  url: URL,
  { allowPrivate = false, allowInsecureHttp = false }: UrlRules,
): void {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new UpstreamError('EGRESS_URL_INVALID', `request failed: ${url.protocol} is not http or https`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new UpstreamError('EGRESS_URL_INVALID', `request to ${url.origin} failed: its URL holds a password`)
  }
  if (!allowPrivate && isPrivateUrl(url)) {
    throw egressFailure(url.origin, errorWithCode('EGRESS_PRIVATE_ADDRESS'))
  }
  if (!allowInsecureHttp && isInsecure(url)) {
    throw new UpstreamError(
      'EGRESS_INSECURE',
      `request to ${url.origin} failed: only https is allowed there; ${PLAIN_HTTP_RULE}`,
    )
  }
}

/**
 * Whether the operator allows plain http to any host. The setting is in the environment and not in a file, so that
 * copying an example does not bring it to production.
 */
export const insecureHttpAllowed = (): boolean => process.env['SALLYPORT_INSECURE_HTTP'] === '1'

/** The rule for plain http, for messages about a URL. */
export const PLAIN_HTTP_RULE =
  'plain http is for loopback, or with SALLYPORT_INSECURE_HTTP=1 in the environment'

/** Whether bytes to this URL cross a network in plain text. */
export function isInsecure(url: URL): boolean {
  return url.protocol === 'http:' && !namesLoopback(url)
}

/**
 * Whether a URL needs `allowPrivate`, as far as the URL shows. A name other than `localhost` is checked when it is
 * resolved.
 */
export function isPrivateUrl(written: string | URL): boolean {
  if (!URL.canParse(String(written))) return false
  const url = new URL(written)
  const address = addressIn(url)
  return address === undefined ? namesLoopback(url) : !isPublicAddress(address)
}
