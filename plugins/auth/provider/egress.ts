import { readFileSync } from 'node:fs'
import {
  ConfigError,
  createFetcher,
  type Fetcher,
  fileFailure,
  type Gateway,
  insecureHttpAllowed,
  isInsecure,
  type Problem,
} from 'sallyport'
import type { CommonOptions } from './options.js'
import type { ProviderSettings } from './set-up.js'

/**
 * Finds at once every file that cannot be read and every URL that must not be asked. A provider that nobody could ever
 * reach is the operator's mistake, and is told at the start.
 */
export function refuseMistakes(gateway: Gateway, { common, keys, introspection }: ProviderSettings): void {
  const { issuerUrl, caCertPath, authTokenFile } = common
  // With `jwksUrl` the issuer itself is never asked: it is a name, and may be any.
  const asked = keys === undefined || keys.jwksUrl !== undefined ? { jwksUrl: keys?.jwksUrl } : { issuerUrl }
  const urls = { ...asked, introspectionUrl: introspection?.introspectionUrl }
  const files = { caCertPath, authTokenFile, clientSecretFile: introspection?.clientSecretFile }
  const problems = [
    ...Object.entries(files).flatMap(([option, path]) => unreadable(option, path && gateway.path(path))),
    ...Object.entries(urls).flatMap(([option, url]) => insecure(option, url)),
  ]
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

function insecure(option: string, url: string | undefined): readonly Problem[] {
  if (url === undefined || insecureHttpAllowed() || !isInsecure(new URL(url))) return []
  const message = 'expected an https URL: whoever is on the way could hand out keys of their own'
  return [{ place: option, message }]
}

/** The way to one provider. `bearerTo` may grow when discovery finds where the keys are. */
export function openEgress(gateway: Gateway, options: CommonOptions, bearerTo: Iterable<string>): Fetcher {
  const { caCertPath, authTokenFile, allowPrivateIP } = options
  try {
    return createFetcher({
      caFile: caCertPath === undefined ? undefined : gateway.path(caCertPath),
      bearer: authTokenFile === undefined ? undefined : { file: gateway.path(authTokenFile), to: bearerTo },
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
      scrubber: gateway.scrubber,
      log: gateway.log,
    })
  } catch (error) {
    throw named(error, {
      CERTIFICATES_INVALID: 'caCertPath',
      SECRET_EMPTY: 'authTokenFile',
      EGRESS_BEARER_INVALID: 'authTokenFile',
    })
  }
}

/** The option that is at fault, for an error that only knows a file. */
export function named(error: unknown, options: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  const place = options[String(error.code)]
  return place === undefined ? error : new ConfigError([{ place, message: error.message }], { cause: error })
}
