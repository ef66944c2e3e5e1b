import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { messageOf } from './message-of.js'

// One without an end is there too: a file that is half written, or was cut off by a full disk, trusts fewer than it names.
// With whole lines: where files were joined without a line break, TLS reads none from there on.
const CERTIFICATE = /^.*-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----.*)?/gm

/** The certificates of a PEM text in their order; none when one of them cannot be read. */
export function certificatesIn(text: string): readonly X509Certificate[] {
  try {
    return (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem))
  } catch {
    return []
  }
}

/** What is wrong with the certificate and the private key of one side of TLS. */
export interface KeyPairFaults {
  readonly cert?: string
  readonly key?: string
}

/** Looks at both, so that everything is reported at once; one that is missing is not looked at. */
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
  `is not the key of the certificate, which is for ${namesOf(certificate)}: the first certificate of the file counts`

const NO_CERTIFICATE =
  'expected PEM certificates (-----BEGIN CERTIFICATE-----), each of them readable and with lines of its own'

/** What is wrong with a PEM text of authorities, with which nobody at all would be trusted. */
export function authoritiesFault(text: string): string | undefined {
  const certificates = certificatesIn(text)
  if (certificates.length === 0) return NO_CERTIFICATE
  if (certificates.some(({ subject, issuer }) => subject === issuer)) return undefined
  return 'holds no root authority: without the root that it comes from, TLS trusts no intermediate one; add its certificate'
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

// OpenSSL has rules of its own, such as for keys that are too short.
function contextFault(cert: string, key: string): KeyPairFaults {
  try {
    createSecureContext({ cert, key })
    return {}
  } catch (error) {
    return { cert: `cannot be used for TLS: ${messageOf(error)}` }
  }
}

/** Whom a certificate is for, as far as it says so. */
export const namesOf = ({ subjectAltName, subject }: X509Certificate): string =>
  subjectAltName ?? subject?.replaceAll('\n', ', ') ?? 'nobody'

/** Those that are not valid at a time, and why. */
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
