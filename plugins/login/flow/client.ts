import { readFileSync } from 'node:fs'
import { ConfigError, type Fetch, type Gateway } from 'sallyport'
import {
  createFetcher,
  fileFailure,
  insecureHttpAllowed,
  messageOf,
  type Secret,
  secretFrom,
  secretText,
} from 'sallyport/toolkit'
import { z } from 'zod'

/** The options of a client at a provider. */
export const clientOptions = {
  clientId: z.string().min(1).describe('the client ID of the gateway at the provider'),
  clientSecret: secretText().optional().describe('its secret; a file is safer, and a public client has none'),
  clientSecretFile: z.string().min(1).optional().describe('the file that holds its secret'),
  caCertPath: z.string().min(1).optional().describe('PEM certificates to trust for the provider'),
  allowPrivateIP: z.boolean().default(false).describe('the provider may be at a private or loopback address'),
}

interface Settings {
  readonly clientSecret?: string | undefined
  readonly clientSecretFile?: string | undefined
  readonly caCertPath?: string | undefined
  readonly allowPrivateIP: boolean
}

/** What a client at a provider sends its requests with. Both are closed when the gateway stops. */
export interface Client {
  readonly fetch: Fetch
  readonly secret: Secret | undefined
}

export function openClient(gateway: Gateway, settings: Settings): Client {
  const { log, scrubber } = gateway
  const { clientSecret, clientSecretFile, caCertPath, allowPrivateIP } = settings
  checkFiles(gateway, { clientSecretFile, caCertPath })
  const fetcher = withOption('caCertPath', () =>
    createFetcher({
      caFile: gateway.path(caCertPath),
      allowPrivate: allowPrivateIP,
      allowInsecureHttp: insecureHttpAllowed(),
      scrubber,
      log,
    }),
  )
  gateway.onStop(() => fetcher.close())
  const file = gateway.path(clientSecretFile)
  const secret = withOption('clientSecretFile', () =>
    secretFrom({ value: clientSecret, file }, { log, scrubber }),
  )
  gateway.onStop(() => secret?.close())
  return { fetch: fetcher.fetch, secret }
}

/** Reports every file that cannot be read together, and stops the boot. */
export function checkFiles(gateway: Gateway, files: Readonly<Record<string, string | undefined>>): void {
  const problems = Object.entries(files).flatMap(([place, written]) => {
    const path = gateway.path(written)
    try {
      if (path !== undefined) readFileSync(path)
      return []
    } catch (error) {
      return [{ place, message: `cannot read ${path}: ${fileFailure(error)}` }]
    }
  })
  if (problems.length > 0) throw new ConfigError(problems)
}

/** Adds the name of the option to an error that names a file. */
export function withOption<T>(option: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw new ConfigError([{ place: option, message: messageOf(error) }], { cause: error })
  }
}
