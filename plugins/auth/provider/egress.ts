import { readFileSync } from 'node:fs'
import { ConfigError, type Gateway, GatewayError, type Problem } from 'sallyport'
import { createFetcher, type Fetcher, fileFailure, insecureHttpAllowed, messageOf } from 'sallyport/toolkit'
import type { CommonOptions, ProviderSettings } from './options.js'

/** Reports all files that cannot be read at once, and stops the boot. */
export function checkFiles(gateway: Gateway, { common, introspection }: ProviderSettings): void {
  const { caCertPath, authTokenFile } = common
  const files = { caCertPath, authTokenFile, clientSecretFile: introspection?.clientSecretFile }
  const problems = Object.entries(files).flatMap(([option, path]) => unreadable(option, gateway.path(path)))
  if (problems.length > 0) throw new ConfigError(problems)
}

function unreadable(option: string, path: string | undefined): readonly Problem[] {
  if (path === undefined) return []
  try {
    readFileSync(path)
    return []
  } catch (error) {
    return [{ place: option, message: `cannot read ${path}: ${fileFailure(error)}` }]
  }
}

/** The fetcher for one provider. Discovery may add the URL of the keys to `bearerTo`. */
export function openEgress(gateway: Gateway, options: CommonOptions, bearerTo: Iterable<string>): Fetcher {
  const { caCertPath, authTokenFile, allowPrivateIP } = options
  try {
    return createFetcher({
      caFile: gateway.path(caCertPath),
      bearer: authTokenFile === undefined ? undefined : { file: gateway.path(authTokenFile), to: bearerTo },
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
      scrubber: gateway.scrubber,
      log: gateway.log,
    })
  } catch (error) {
    throw withOption(error, {
      CERTIFICATES_INVALID: 'caCertPath',
      SECRET_EMPTY: 'authTokenFile',
      EGRESS_BEARER_INVALID: 'authTokenFile',
    })
  }
}

/** Adds the name of the option to an error that names a file alone. */
export function withOption(error: unknown, options: Readonly<Record<string, string>>): unknown {
  const place = error instanceof GatewayError ? options[error.code] : undefined
  return place === undefined
    ? error
    : new ConfigError([{ place, message: messageOf(error) }], { cause: error })
}
