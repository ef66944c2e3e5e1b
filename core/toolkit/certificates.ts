import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { messageOf } from './message-of.js'

// Also matches a certificate without an end: a file that is half written, or cut off by a full disk, would otherwise
// trust fewer authorities than it names. It matches whole lines: where files were joined without a line break, TLS
// reads no certificate from there on.
const CERTIFICATE = /^.*-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----.*)?/gm

/** The certificates of a PEM text in their order; none when one of them cannot be read. */
export function certificatesIn(text: string): readonly X509Certificate[] {
  try {
    return (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem))
  } catch {
    return []
  }
}

/** The faults of the certificate and the private key of one side of TLS. */
export interface KeyPairFaults {
  readonly cert?: string
  readonly key?: string
}

/** Checks both, so that all faults are reported at once; a missing one is not checked. */
export function keyPairFaults(cert: string | undefined, key: string | undefined): KeyPairFaults {
  const own = cert === undefined ? undefined : certificatesIn(cert)[0]
  const read = key === undefined ? undefined : readKey(key)
  const faults = {
    ...(cert !== undefined && own === undefined && { cert: NO_CERTIFICATE }),
    ...(read?.fault !== undefined && { key: read.fault }),
  }
  if (cert === undefined || key === undefined || own === undefined || read?.key === undefined) return faults
  return own.checkPrivateKey(read.key) ? contextFault(cert, key) : { key: otherKey(own) }
}

const otherKey = (certificate: X509Certificate): string =>
  `is not the key of the first certificate in the file, which is for ${namesOf(certificate)}`

const NO_CERTIFICATE =
  'expected PEM certificates (-----BEGIN CERTIFICATE-----), each readable and on its own lines'

/** The fault of a PEM text of authorities with which TLS would trust no certificate. */
export function authoritiesFault(text: string): string | undefined {
  const certificates = certificatesIn(text)
  if (certificates.length === 0) return NO_CERTIFICATE
  if (certificates.some(({ subject, issuer }) => subject === issuer)) return undefined
  return 'holds no root authority: TLS trusts an intermediate authority only with its root; add the certificate of the root'
}

function readKey(text: string): { readonly key?: KeyObject; readonly fault?: string } {
  try {
    return { key: createPrivateKey(text) }
  } catch {
    if (text.includes('ENCRYPTED')) return ENCRYPTED
    return { fault: 'expected a PEM private key (-----BEGIN PRIVATE KEY-----)' }
  }
}

const ENCRYPTED = {
  fault: 'is encrypted: expected a key without a passphrase, as `openssl pkey -in OLD -out NEW` writes it',
}

// OpenSSL has further rules, such as one against keys that are too short.
function contextFault(cert: string, key: string): KeyPairFaults {
  try {
    createSecureContext({ cert, key })
    return {}
  } catch (error) {
    return { cert: `cannot be used for TLS: ${messageOf(error)}` }
  }
}

/** The names that a certificate is for, as far as it has any. */
export const namesOf = ({ subjectAltName, subject }: X509Certificate): string =>
  subjectAltName ?? subject?.replaceAll('\n', ', ') ?? 'no name'

/** The reasons why certificates are not valid at a time. */
export function outOfDate(certificates: readonly X509Certificate[], now = Date.now()): readonly string[] {
  return certificates.flatMap((certificate) => {
    const { validFrom, validTo } = certificate
    if (now > Date.parse(validTo))
      return [`the certificate for ${namesOf(certificate)} expired on ${validTo}`]
    if (now < Date.parse(validFrom)) {
      return [`the certificate for ${namesOf(certificate)} is not valid before ${validFrom}`]
    }
    return []
  })
}
