import { lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { ConfigError, UpstreamError } from 'sallyport'
import { insecureHttpAllowed, isInLocalNetwork, localNetworkLookup, proxyChoice } from 'sallyport/toolkit'

/** A guard, if a target has a plain http URL and the operator has not allowed that. */
export function plainHttpGuard(targets: readonly string[], allowed: boolean): PlainHttpGuard | undefined {
  const isPlain = targets.some((target) => target.startsWith('http:'))
  return isPlain && !allowed && !insecureHttpAllowed() ? new PlainHttpGuard(targets) : undefined
}

/**
 * Keeps credentials from crossing the internet in plain text. It checks a literal address at the start, and for a name
 * each address that a connection would use.
 */
export class PlainHttpGuard {
  private enabled = false
  private readonly guarded = localNetworkLookup(publicAddress)

  constructor(private readonly targets: readonly string[]) {}

  /** Turns the guard on, since requests to the target carry credentials. */
  enable(): void {
    for (const target of this.targets) {
      const url = new URL(target)
      const isLocal = isInLocalNetwork(url)
      if (isLocal === true) continue
      if (isLocal === false) throw refused('others on the network could read its credential')
      // The outgoing proxy resolves the name, so the gateway cannot check the address.
      if (proxyChoice(process.env)(url) !== undefined)
        throw refused('the outgoing proxy could read its credential')
      this.enabled = true
    }
  }

  readonly lookup: LookupFunction = (hostname, options, callback) =>
    (this.enabled ? this.guarded : systemLookup)(hostname, options, callback)
}

const FLAG = '--allow-plain-http (allowPlainHttp: true in a file)'

const refused = (risk: string): ConfigError =>
  new ConfigError([{ place: 'target', message: `${risk}: expected an https URL, or ${FLAG}` }])

const publicAddress = (): UpstreamError =>
  new UpstreamError(
    'TARGET_PLAIN_HTTP',
    'the credential for the target must not cross a network in plain text',
    {
      cause: new Error(
        `the target's name resolves to an address outside of private networks: expected https, or ${FLAG}`,
      ),
    },
  )
