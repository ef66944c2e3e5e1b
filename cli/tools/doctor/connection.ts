import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import type { ReachOptions } from 'sallyport'
import { isPublicAddress, messageOf, portOf } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

import { examineProxy, tunnelsTo } from './proxy.js'
import { examineTls, hostOf, readTlsFiles, STEP_TIMEOUT, type TlsFiles } from './tls.js'

/** Checks name, address, port and certificate of a URL. Returns whether further requests make sense. */
export async function reach(findings: FindingList, written: string, options: ReachOptions): Promise<boolean> {
  const url = new URL(written)
  const { caOption, direct = false } = options
  let tls: TlsFiles
  try {
    tls = await readTlsFiles(options)
  } catch (error) {
    findings.wrong('files', 'FILE_UNREADABLE', messageOf(error), 'correct the path, or the file')
    return false
  }
  const tunnels = direct ? undefined : tunnelsTo(url)
  if (tunnels !== undefined) {
    const tunnel = await examineProxy(findings, tunnels, url)
    if (tunnel === undefined || url.protocol !== 'https:') {
      tunnel?.destroy()
      return tunnel !== undefined
    }
    return examineTls(findings, url, { ...tls, caOption, tunnel })
  }
  const addresses = await resolved(findings, url, options)
  if (addresses === undefined || !allowed(findings, url, addresses, options)) return false
  if (!(await opened(findings, url, options))) return false
  if (url.protocol !== 'https:') return true
  return examineTls(findings, url, { ...tls, caOption })
}

async function resolved(
  findings: FindingList,
  url: URL,
  { closedAdvice }: ReachOptions,
): Promise<readonly string[] | undefined> {
  const host = hostOf(url)
  try {
    const addresses = (await lookup(host, { all: true })).map(({ address }) => address)
    if (addresses.length === 0) throw new Error('no address')
    findings.ok('DNS', `${host} is ${addresses.join(', ')}`)
    return addresses
  } catch {
    const advice = 'check the name, and the name server of this machine'
    const detail = `${host} does not resolve`
    // Often only name servers outside know the public name of a gateway.
    if (closedAdvice === undefined) findings.wrong('DNS', 'DNS_FAILED', detail, advice)
    else findings.warning('DNS', 'DNS_FAILED', `${detail} here`, closedAdvice)
    return undefined
  }
}

function allowed(
  findings: FindingList,
  url: URL,
  addresses: readonly string[],
  { privateOption }: ReachOptions,
): boolean {
  if (privateOption === undefined || addresses.some(isPublicAddress)) return true
  const advice = `set ${privateOption} if the private address is intended`
  findings.wrong('address', 'ADDRESS_PRIVATE', `${hostOf(url)} has a private address only`, advice)
  return false
}

async function opened(findings: FindingList, url: URL, { closedAdvice }: ReachOptions): Promise<boolean> {
  const hostPort = `${hostOf(url)}:${portOf(url)}`
  const socket = connect({ host: hostOf(url), port: portOf(url), timeout: STEP_TIMEOUT })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('it does not answer')))
    })
    findings.ok('TCP', `${hostPort} is open`)
    return true
  } catch (error) {
    const isRefused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    const [code, detail, advice] = isRefused
      ? ['TCP_REFUSED', `nothing listens at ${hostPort}`, 'start the server there, or correct the port']
      : ['TCP_FAILED', `${hostPort} cannot be reached: ${messageOf(error)}`, 'look for a firewall on the way']
    if (closedAdvice === undefined) findings.wrong('TCP', code, detail, advice)
    else findings.warning('TCP', code, detail, closedAdvice)
    return false
  } finally {
    socket.destroy()
  }
}
