import {
  ConfigError,
  createFetcher,
  type Fetch,
  type Gateway,
  insecureHttpAllowed,
  isInsecure,
  type Problem,
  secretFrom,
} from 'sallyport'
import type { ExchangeOptions } from './options.js'
import type { ExchangeSecrets } from './request.js'

/** The way to the token endpoint, and what is shown there. */
export interface Way {
  readonly fetch: Fetch
  readonly secrets: ExchangeSecrets
}

/** Opens every file of an exchange. All that is wrong with them, and with the URL, stops the boot at once. */
export function openWay(gateway: Gateway, options: ExchangeOptions): Way {
  const { url, clientSecret, clientSecretFile, actorTokenFile, caCertPath, allowPrivateIP } = options
  const { log, scrubber } = gateway
  const problems: Problem[] = []
  const opened = <T>(place: string, open: () => T): T | undefined => {
    try {
      return open()
    } catch (error) {
      problems.push({ place, message: error instanceof Error ? error.message : 'cannot be opened' })
      return undefined
    }
  }
  const path = (file: string | undefined) => (file === undefined ? undefined : gateway.path(file))
  const client = opened('clientSecretFile', () =>
    secretFrom({ value: clientSecret, file: path(clientSecretFile) }, { log, scrubber }),
  )
  const actor = opened('actorTokenFile', () => secretFrom({ file: path(actorTokenFile) }, { log, scrubber }))
  const allowInsecureHttp = insecureHttpAllowed()
  const fetcher = opened('caCertPath', () =>
    createFetcher({
      caFile: path(caCertPath),
      allowPrivate: allowPrivateIP,
      allowInsecureHttp,
      maxBytes: MOST_BYTES,
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
    problems.push({ place: 'url', message: 'expected an https URL: tokens and the secret go there' })
  }
  if (fetcher === undefined || problems.length > 0) throw new ConfigError(problems)
  return { fetch: fetcher.fetch, secrets: { client, actor } }
}

// The answer is one token, and a header must hold it.
const MOST_BYTES = 64 * 1024
