import { setTimeout as delay } from 'node:timers/promises'
import type { AuthorizationServer } from 'oauth4webapi'
import { UpstreamError } from 'sallyport'
import { LONGEST_WAIT, plainText } from 'sallyport/toolkit'
import { browserUrl } from './browser.js'
import { promptUser, type Terminal } from './prompt.js'
import type { TokenEndpoint, Tokens } from './token-endpoint.js'

interface Flow {
  readonly terminal: Terminal
  readonly server: AuthorizationServer
  readonly endpoint: TokenEndpoint
  readonly scopes: readonly string[]
  readonly signal: AbortSignal
  readonly onPage: (url: string) => Promise<void>
}

/** A login on another device (RFC 8628): the user types a code there, and the token endpoint is polled until then. */
export async function deviceFlow({
  terminal,
  server,
  endpoint,
  scopes,
  signal,
  onPage,
}: Flow): Promise<Tokens> {
  if (server.device_authorization_endpoint === undefined) {
    throw new UpstreamError(
      'DEVICE_FLOW_UNSUPPORTED',
      `the issuer ${server.issuer} does not support the device flow`,
    )
  }
  const device = await endpoint.deviceAuthorization(scopes, signal)
  const page = browserUrl(device.verification_uri_complete ?? device.verification_uri, server.issuer)
  await onPage(page.href)
  promptUser(terminal, `Open this URL to sign in: ${page.href}`)
  promptUser(terminal, `and enter the code: ${plainText(device.user_code)}`)
  return poll(endpoint, device.device_code, device.interval, signal)
}

// RFC 8628, 3.5.
const SLOWER = 5

/**
 * Not by openid-client: with it, a poll without a response ends the login while the user may be typing the code, and so
 * does an ID token of another issuer, which the gateway does not use.
 */
async function poll(
  endpoint: TokenEndpoint,
  code: string,
  interval = SLOWER,
  signal: AbortSignal,
): Promise<Tokens> {
  for (let pause = Math.max(interval, 1); ; ) {
    await delay(Math.min(pause * 1000, LONGEST_WAIT), undefined, { signal }).catch(() => {})
    signal.throwIfAborted()
    try {
      return await endpoint.deviceCode(code, signal)
    } catch (error) {
      const reason = error instanceof UpstreamError ? error.code : ''
      if (reason === PENDING) continue
      if (!TRANSIENT.has(reason)) throw error
      pause += SLOWER
    }
  }
}

const PENDING = 'OAUTH_AUTHORIZATION_PENDING'

const TRANSIENT = new Set([
  'OAUTH_SLOW_DOWN',
  'OAUTH_SERVER_ERROR',
  'OAUTH_TEMPORARILY_UNAVAILABLE',
  'EGRESS_DNS',
  'EGRESS_PROXY',
  'EGRESS_PROXY_TIMEOUT',
  'EGRESS_REFUSED',
  'EGRESS_RESET',
  'EGRESS_TIMEOUT',
  'EGRESS_UNREACHABLE',
])
