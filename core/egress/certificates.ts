import { GatewayError } from '../contract/errors.js'
import { authoritiesFault } from '../toolkit/certificates.js'
import { WatchedFile, type WatchedFileOptions } from '../toolkit/files/watched-file.js'

/**
 * Opens a file of PEM certificates. TLS accepts a broken one without an error and then trusts no certificate, so
 * this function parses it first.
 */
export function openCertificates(path: string, log: WatchedFileOptions['log']): WatchedFile {
  return WatchedFile.open(path, {
    log,
    check(text) {
      const fault = authoritiesFault(text)
      if (fault !== undefined) throw new GatewayError('CERTIFICATES_INVALID', `${path}: ${fault}`)
    },
  })
}
