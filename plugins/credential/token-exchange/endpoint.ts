import { ConfigError, type Fetch, type Gateway, type Problem } from 'sallyport'
import {
  createFetcher,
  insecureHttpAllowed,
  isInsecure,
  messageOf,
  PLAIN_HTTP_RULE,
  secretFrom,
} from 'sallyport/toolkit'
import type { ExchangeOptions } from './options.js'
import type { ExchangeSecrets } from './request.js'

/** The connection to the token endpoint, and the secrets that are sent there. */
export interface Endpoint {
  readonly fetch: Fetch
  readonly secrets: ExchangeSecrets
}

/** Opens every file of an exchange. Reports all problems with the files and the URL at once, which stops the boot. */
export function openEndpoint(gateway: Gateway, options: ExchangeOptions): Endpoint {
  const { url, clientSecret, clientSecretFile, actorTokenFile, caCertPath, allowPrivateIP } = options
  const { log, scrubber } = gateway
  const problems: Problem[] = []
  const opened = <T>(place: string, open: () => T): T | undefined => {
    try {
      return open()
    } catch (error) {
      problems.push({ place, message: messageOf(error) })
      return undefined
    }
  }
  const client = opened('clientSecretFile', () =>
    secretFrom({ value: clientSecret, file: gateway.path(clientSecretFile) }, { log, scrubber }),
  )
  const actor = opened('actorTokenFile', () =>
    secretFrom({ file: gateway.path(actorTokenFile) }, { log, scrubber }),
  )
  const allowInsecureHttp = insecureHttpAllowed()
  const fetcher = opened('caCertPath', () =>
    createFetcher({
      caFile: gateway.path(caCertPath),
      allowPrivate: allowPrivateIP,
      allowInsecureHttp,
      maxBytes: MAX_RESPONSE_BYTES,
      scrubber,
      log,
    }),
  )
  gateway.onStop(async () => {
    client?.close()
    actor?.close()
    await fetcher?.close()
  })
  if (!allowInsecureHttp && isInsecure(new URL(url))) {
    const message = `expected https, as the gateway sends tokens and its secret there; ${PLAIN_HTTP_RULE}`
    problems.push({ place: 'url', message })
  }
  if (fetcher === undefined || problems.length > 0) throw new ConfigError(problems)
  return { fetch: fetcher.fetch, secrets: { client, actor } }
}

// The response is one token, which must fit in a header.
const MAX_RESPONSE_BYTES = 64 * 1024
