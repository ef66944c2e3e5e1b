import type { Gateway, ListenerTls } from 'sallyport'
import { TlsFiles } from 'sallyport/toolkit'
import type { TlsOptions } from './options.js'

/** The TLS settings of a port, with the current text of its files. */
export function openTls(gateway: Gateway, options: TlsOptions): ListenerTls {
  const { clientCertificate, minVersion, modernCiphers } = options
  const files = tlsFiles(gateway, options)
  gateway.onStop(() => files.close())
  return {
    clientCertificate,
    minVersion,
    modernCiphers,
    get certificates() {
      const { cert = '', key = '', ca } = files.texts
      return { cert, key, ...(ca !== undefined && { ca }) }
    },
    onChange: (listener) => files.onChange(listener),
  }
}

/** Throws one error with every problem of the files. */
export function tlsFiles(
  { path, log }: Pick<Gateway, 'path'> & { readonly log: Pick<Gateway['log'], 'info' | 'warn'> },
  { cert, key, clientCa }: TlsOptions,
): TlsFiles {
  const file = (option: string, written: string) => ({ option: `tls.${option}`, path: path(written) })
  const named = {
    cert: file('cert', cert),
    key: file('key', key),
    ...(clientCa !== undefined && { ca: file('clientCa', clientCa) }),
  }
  return new TlsFiles(named, log)
}
