import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'
import type { ExaminedTls } from 'sallyport'
import { messageOf, portOf } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

/** Milliseconds for each step of a connection. */
export const STEP_TIMEOUT = 5_000

export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** PEM texts, as `tls.connect` takes them. */
export type TlsFiles = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>

export async function readTlsFiles({ caFile, certFile, keyFile }: ExaminedTls): Promise<TlsFiles> {
  const read = async (file: string | undefined) => (file === undefined ? undefined : readFile(file, 'utf8'))
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(read))
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { cert, key }),
  }
}

interface Handshake extends TlsFiles {
  /** The option whose file holds the trusted authorities. */
  readonly caOption?: string | undefined
  /** An open connection to the host. */
  readonly tunnel?: Socket
}

/** Opens a TLS session, and names the missing authority when the chain does not end at a trusted one. */
export async function examineTls(
  findings: FindingList,
  url: URL,
  { caOption = 'caCertPath', tunnel, ...files }: Handshake,
): Promise<boolean> {
  const host = hostOf(url)
  const socket = connect({
    ...(tunnel === undefined ? { host, port: portOf(url) } : { socket: tunnel }),
    ...(!/^[\d.]+$|:/.test(host) && { servername: host }),
    ...files,
    timeout: STEP_TIMEOUT,
    // Safe, since nothing is sent: doctor examines the certificate itself to report each fault.
    rejectUnauthorized: false,
  })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('it does not answer')))
    })
    return judged(findings, host, socket, { caOption, own: files.ca !== undefined })
  } catch (error) {
    const advice = 'check that it speaks https on this port'
    findings.wrong('TLS', 'TLS_FAILED', `no session with ${host}: ${messageOf(error)}`, advice)
    return false
  } finally {
    socket.destroy()
  }
}

function judged(
  findings: FindingList,
  host: string,
  socket: TLSSocket,
  { caOption, own }: { readonly caOption: string; readonly own: boolean },
): boolean {
  const certificate = socket.getPeerCertificate(true)
  if (socket.authorized) {
    findings.ok('TLS', `${socket.getProtocol() ?? 'TLS'}, valid until ${certificate.valid_to}`)
    return true
  }
  // Node keeps the code here, although its type says Error.
  const code = String(socket.authorizationError)
  if (code === 'CERT_HAS_EXPIRED') {
    const advice = 'its owner has to renew it'
    findings.wrong(
      'TLS',
      'TLS_EXPIRED',
      `the certificate of ${host} ended on ${certificate.valid_to}`,
      advice,
    )
  } else if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = certificate.subjectaltname ?? 'no name'
    const advice = 'use one of these names in the URL'
    findings.wrong('TLS', 'TLS_NAME', `the certificate is not for ${host} but for ${names}`, advice)
  } else {
    const instead = own ? ', instead of its present content' : ''
    const advice = `put the certificate of that authority into the file that ${caOption} names${instead}`
    const detail = `the certificate of ${host} comes from ${missingAuthority(certificate)}, which is not trusted (${code})`
    findings.wrong('TLS', 'TLS_UNTRUSTED', detail, advice)
  }
  return false
}

/** The signer of the last certificate that the server sent. */
function missingAuthority(leaf: DetailedPeerCertificate): string {
  let last = leaf
  const seen = new Set<DetailedPeerCertificate>()
  while (last.issuerCertificate !== undefined && !seen.has(last)) {
    seen.add(last)
    last = last.issuerCertificate
  }
  const { CN, O } = last.issuer
  return `"${String(CN ?? O ?? 'an authority without a name')}"`
}
