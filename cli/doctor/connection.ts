import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { isPublicAddress } from 'sallyport'
import type { Chart } from '../findings/chart.js'
import { messageOf } from '../findings/chart.js'
import { examineProxy, tunnelsTo } from './proxy.js'
import { examineTls, hostOf, portOf } from './tls.js'

export interface Way {
  /** PEM certificates to trust in place of the usual ones. */
  readonly caFile?: string | undefined
  /** What the operator sets so that a private address is allowed; missing when any is. */
  readonly privateOption?: string | undefined
  /** Whoever goes there uses no proxy. */
  readonly direct?: boolean
}

const PATIENCE = 5_000

/** Name, address, port and certificate of a URL. Whether it can be reached, so that asking more makes sense. */
export async function examineConnection(chart: Chart, written: string, way: Way): Promise<boolean> {
  const url = new URL(written)
  const authorities = way.caFile === undefined ? undefined : await readFile(way.caFile, 'utf8')
  const tunnels = way.direct === true ? undefined : tunnelsTo(url, PATIENCE)
  if (tunnels !== undefined) {
    const tunnel = await examineProxy(chart, tunnels, url)
    if (tunnel === undefined || url.protocol !== 'https:') {
      tunnel?.destroy()
      return tunnel !== undefined
    }
    return examineTls(chart, url, { authorities, patience: PATIENCE, tunnel })
  }
  const addresses = await resolved(chart, url)
  if (addresses === undefined || !allowed(chart, url, addresses, way)) return false
  if (!(await opened(chart, url))) return false
  if (url.protocol !== 'https:') return true
  return examineTls(chart, url, { authorities, patience: PATIENCE })
}

async function resolved(chart: Chart, url: URL): Promise<readonly string[] | undefined> {
  const host = hostOf(url)
  try {
    const addresses = (await lookup(host, { all: true })).map(({ address }) => address)
    if (addresses.length === 0) throw new Error('no address')
    chart.ok('DNS', `${host} is ${addresses.join(', ')}`)
    return addresses
  } catch {
    const advice = 'check the name, and the name server of this machine'
    chart.wrong('DNS', 'DNS_FAILED', `${host} does not resolve`, advice)
    return undefined
  }
}

function allowed(chart: Chart, url: URL, addresses: readonly string[], { privateOption }: Way): boolean {
  if (privateOption === undefined || addresses.some(isPublicAddress)) return true
  const advice = `set ${privateOption} if it is meant to be inside`
  chart.wrong('address', 'ADDRESS_PRIVATE', `${hostOf(url)} has a private address only`, advice)
  return false
}

async function opened(chart: Chart, url: URL): Promise<boolean> {
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
    const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
    if (refused) {
      chart.wrong('TCP', 'TCP_REFUSED', `nothing listens at ${place}`, 'start it, or correct the port')
    } else {
      const advice = 'look for a firewall on the way'
      chart.wrong('TCP', 'TCP_FAILED', `${place} cannot be reached: ${messageOf(error)}`, advice)
    }
    return false
  } finally {
    socket.destroy()
  }
}
