import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Examination } from 'sallyport'
import { certificatesIn, examineTlsFiles, namesOf, parseHostPort } from 'sallyport/toolkit'
import type { TlsOptions } from './options.js'
import { tlsFiles } from './tls.js'

/** Checks the files of a TLS port: whether they fit together, how long they are valid, and for which names. */
export function examineTls(examination: Examination, address: string, tls: TlsOptions): void {
  const texts = examineTlsFiles(examination, (files) => tlsFiles(files, tls))
  if (texts === undefined) return
  const chain = certificatesIn(texts.cert ?? '')
  examineChain(examination, chain)
  examineName(examination, chain, publicHost(examination, address))
}

/** The next certificate in the file has to be the issuer of each: clients may know only the last one. */
function examineChain({ wrong }: Examination, chain: readonly X509Certificate[]): void {
  const broken = chain.findIndex((certificate, index) => {
    const issuer = chain[index + 1]
    return issuer !== undefined && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey))
  })
  const certificate = chain[broken]
  if (certificate === undefined) return
  const detail = `certificate ${broken + 1} of the file, for ${namesOf(certificate)}, is not issued by the one after it`
  const advice = "put the server's certificate first, and each issuer after what it issued"
  wrong('certificate chain', 'TLS_CHAIN', detail, advice)
}

/** The host that callers use: the one of the protected resource, else the one of the port. */
function publicHost({ around }: Examination, address: string): string | undefined {
  const url = around.map(({ publicUrl }) => publicUrl).find((each) => each !== undefined)
  if (url !== undefined && URL.canParse(url)) return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')
  const host = parseHostPort(address)?.host
  return host === '0.0.0.0' || host === '::' ? undefined : host
}

function examineName(
  { ok, wrong }: Examination,
  [own]: readonly X509Certificate[],
  host: string | undefined,
): void {
  if (own === undefined || host === undefined) return
  // Clients ignore the common name.
  const covered = isIP(host) === 0 ? own.checkHost(host, { subject: 'never' }) : own.checkIP(host)
  if (covered !== undefined) ok('certificate name', `it is for ${host}`)
  else {
    const detail = `it is for ${namesOf(own)}, and callers connect to ${host}`
    wrong('certificate name', 'TLS_NAME', detail, 'get a certificate for that name too, or correct the URL')
  }
}
