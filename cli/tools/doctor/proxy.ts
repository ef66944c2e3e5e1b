import type { Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { messageOf, ProxyTunnels, portOf, proxyChoice } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'
import { hostOf, STEP_TIMEOUT, type TlsFiles } from './tls.js'

/** Tunnels through the proxy that the environment names for a URL; nothing when there is none. */
export function tunnelsTo(url: URL, tls: TlsFiles = {}): ProxyTunnels | undefined {
  const proxy = proxyChoice(process.env)(url)
  if (proxy === undefined) return undefined
  return new ProxyTunnels(proxy, { timeout: STEP_TIMEOUT, secureContext: () => createSecureContext(tls) })
}

/** A tunnel to the host of the URL; undefined when the proxy cannot be reached or refuses. */
export function examineProxy(
  findings: FindingList,
  tunnels: ProxyTunnels,
  url: URL,
): Promise<Socket | undefined> {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const around = `or name ${hostOf(url)} in NO_PROXY`
  // TLS is examined later, as a check of its own.
  const to = { protocol: 'http:', hostname: url.hostname, port: String(portOf(url)) }
  return new Promise((resolve) => {
    tunnels.open(to, (error, socket) => {
      if (error === null) {
        findings.ok('proxy', `through ${tunnels.origin}, as ${name} says`)
        resolve(socket)
        return
      }
      const { status } = error
      if (status === undefined) {
        findings.wrong('proxy', 'PROXY_UNREACHABLE', messageOf(error), `correct ${name}, ${around}`)
      } else {
        const wants =
          status === 407 ? `write its user and password into ${name}` : `let the proxy allow ${hostOf(url)}`
        findings.wrong('proxy', 'PROXY_REFUSES', messageOf(error), `${wants}, ${around}`)
      }
      resolve(undefined)
    })
  })
}
