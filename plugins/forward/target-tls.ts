import { createSecureContext, type SecureContext } from 'node:tls'
import { ConfigError, type ExaminedTls, type Gateway, type Problem } from 'sallyport'
import { TlsFiles } from 'sallyport/toolkit'
import type { TlsSettings } from './options.js'

const OPTIONS = { ca: 'targetCaCert', cert: 'targetClientCert', key: 'targetClientKey' } as const

/** The TLS settings for the target, if the operator named files: trusted authorities, and a client certificate. */
export function openTargetTls(
  gateway: Gateway,
  settings: TlsSettings,
  secure: boolean,
): TargetTls | undefined {
  if (Object.values(OPTIONS).every((option) => settings[option] === undefined)) return undefined
  const files = targetTlsFiles(gateway, settings, secure)
  gateway.onStop(() => files.close())
  return new TargetTls(files)
}

/** Throws one error with every problem of the files. */
export function targetTlsFiles(
  { path, log }: Pick<Gateway, 'path'> & { readonly log: Pick<Gateway['log'], 'info' | 'warn'> },
  settings: TlsSettings,
  secure: boolean,
): TlsFiles {
  const named = Object.entries(OPTIONS).flatMap(([role, option]) => {
    const written = settings[option]
    return written === undefined ? [] : [[role, { option, path: path(written) }] as const]
  })
  if (!secure && named.length > 0) {
    const message = 'needs a target with an https URL: the URL of this one is plain http'
    throw new ConfigError(named.map(([, { option }]) => ({ place: option, message })))
  }
  return openTogether(halfPair(settings), () => new TlsFiles(Object.fromEntries(named), log))
}

/** The paths of the files, for `sallyport doctor`. */
export function tlsPaths(settings: TlsSettings, path: Gateway['path']): ExaminedTls {
  return {
    caFile: path(settings.targetCaCert),
    certFile: path(settings.targetClientCert),
    keyFile: path(settings.targetClientKey),
  }
}

/** Throws these problems together with those of `open`. */
function openTogether(problems: readonly Problem[], open: () => TlsFiles): TlsFiles {
  try {
    const files = open()
    if (problems.length === 0) return files
    files.close()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError([...problems, ...error.problems])
  }
  throw new ConfigError(problems)
}

function halfPair({ targetClientCert, targetClientKey }: TlsSettings): Problem[] {
  if ((targetClientCert === undefined) === (targetClientKey === undefined)) return []
  const [place, other] =
    targetClientKey === undefined
      ? ['targetClientCert', '--target-client-key (targetClientKey in a file)']
      : ['targetClientKey', '--target-client-cert (targetClientCert in a file)']
  return [{ place, message: `needs ${other} beside it` }]
}

/** The TLS settings of connections to the target. Open connections keep their settings. */
export class TargetTls {
  /** For the next connection. */
  secureContext: SecureContext

  constructor(private readonly files: TlsFiles) {
    this.secureContext = createSecureContext(files.texts)
    files.onChange(() => {
      this.secureContext = createSecureContext(files.texts)
    })
  }

  onChange(listener: () => void): void {
    this.files.onChange(listener)
  }
}
