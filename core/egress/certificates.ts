import { X509Certificate } from 'node:crypto'
import { GatewayError } from '../errors.js'
import { WatchedFile, type WatchedFileOptions } from '../files/watched-file.js'

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** A file of PEM certificates. TLS takes a broken one in silence and then trusts nobody, so it is read here first. */
export function openCertificates(path: string, log: WatchedFileOptions['log']): WatchedFile {
  return WatchedFile.open(path, {
    log,
    check(text) {
      const found = text.match(certificate) ?? []
      if (found.length === 0 || !found.every(readable)) {
        throw new GatewayError('CERTIFICATES_INVALID', `${path} holds no PEM certificate that can be read`)
      }
    },
  })
}

function readable(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}
