import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import type { ReachOptions } from 'sallyport'
import { isPublicAddress, messageOf, portOf } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'

import { examineProxy, tunnelsTo } from './proxy.js'
import { examineTls, hostOf, PATIENCE, readTlsFiles, type TlsFiles } from './tls.js'

/** Name, address, port and certificate of a URL. Whether it can be reached, so that asking more makes sense. */
export async function reach(chart: FindingList, written: string, options: ReachOptions): Promise<boolean> {
  const url = new URL(written)
  const { caOption, direct = false } = options
  let tls: TlsFiles
  try {
    tls = await readTlsFiles(options)
  } catch (error) {
    chart.wrong('files', 'FILE_UNREADABLE', messageOf(error), 'correct the path, or what is in the file')
    return false
  }
  const tunnels = direct ? undefined : tunnelsTo(url)
  if (tunnels !== undefined) {
    const tunnel = await examineProxy(chart, tunnels, url)
    if (tunnel === undefined || url.protocol !== 'https:') {
      tunnel?.destroy()
      return tunnel !== undefined
    }
    return examineTls(chart, url, { ...tls, caOption, tunnel })
  }
  const addresses = await resolved(chart, url, options)
  if (addresses === undefined || !allowed(chart, url, addresses, options)) return false
  if (!(await opened(chart, url, options))) return false
  if (url.protocol !== 'https:') return true
  return examineTls(chart, url, { ...tls, caOption })
}

async function resolved(
  chart: FindingList,
  url: URL,
  { closedAdvice }: ReachOptions,
): Promise<readonly string[] | undefined> {
  const host = hostOf(url)
  try {
    const addresses = (await lookup(host, { all: true })).map(({ address }) => address)
    if (addresses.length === 0) throw new Error('no address')
    chart.ok('DNS', `${host} is ${addresses.join(', ')}`)
    return addresses
  } catch {
    const advice = 'check the name, and the name server of this machine'
    const detail = `${host} does not resolve`
    // The public name of a gateway is often known outside alone.
    if (closedAdvice === undefined) chart.wrong('DNS', 'DNS_FAILED', detail, advice)
    else chart.warning('DNS', 'DNS_FAILED', `${detail} here`, closedAdvice)
    return undefined
  }
}

function allowed(
  chart: FindingList,
  url: URL,
  addresses: readonly string[],
  { privateOption }: ReachOptions,
): boolean {
  if (privateOption === undefined || addresses.some(isPublicAddress)) return true
  const advice = `set ${privateOption} if it is meant to be inside`
  chart.wrong('address', 'ADDRESS_PRIVATE', `${hostOf(url)} has a private address only`, advice)
  return false
}

async function opened(chart: FindingList, url: URL, { closedAdvice }: ReachOptions): Promise<boolean> {
  const place = `${hostOf(url)}:${portOf(url)}`
  const socket = connect({ host: hostOf(url), port: portOf(url), timeout: PATIENCE })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject)
      socket.once('timeout', () => reject(new Error('it does not answer')))
    })
    chart.ok('TCP', `${place} is open`)
    return true
  } catch (error) {
    const isRefused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    const [code, detail, advice] = isRefused
      ? ['TCP_REFUSED', `nothing listens at ${place}`, 'start it, or correct the port']
      : ['TCP_FAILED', `${place} cannot be reached: ${messageOf(error)}`, 'look for a firewall on the way']
    if (closedAdvice === undefined) chart.wrong('TCP', code, detail, advice)
    else chart.warning('TCP', code, detail, closedAdvice)
    return false
  } finally {
    socket.destroy()
  }
}
