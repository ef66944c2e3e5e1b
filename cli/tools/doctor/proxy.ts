import type { Socket } from 'node:net'
import { ProxyTunnels, proxyChoice } from 'sallyport'
import { type Chart, messageOf } from '../findings/chart.js'
import { hostOf, portOf } from './tls.js'

/** The way through the proxy that the environment names for a URL; nothing for the direct way. */
export function tunnelsTo(url: URL, patience: number): ProxyTunnels | undefined {
  const proxy = proxyChoice(process.env)(url)
  return proxy === undefined ? undefined : new ProxyTunnels(proxy, { timeout: patience })
}

/** A tunnel to where the URL leads, or nothing when the proxy is in the way. */
export function examineProxy(chart: Chart, tunnels: ProxyTunnels, url: URL): Promise<Socket | undefined> {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const around = `or name ${hostOf(url)} in NO_PROXY`
  // TLS is looked at by itself, later.
  const to = { protocol: 'http:', hostname: url.hostname, port: String(portOf(url)) }
  return new Promise((resolve) => {
    tunnels.open(to, (error, socket) => {
      if (error === null) {
        chart.ok('proxy', `through ${tunnels.origin}, as ${name} says`)
        resolve(socket)
        return
      }
      const { status } = error
      if (status === undefined) {
        chart.wrong('proxy', 'PROXY_UNREACHABLE', messageOf(error), `correct ${name}, ${around}`)
      } else {
        const wants = status === 407 ? `write its user and password into ${name}` : 'let the proxy pass it'
        chart.wrong('proxy', 'PROXY_REFUSES', messageOf(error), `${wants}, ${around}`)
      }
      resolve(undefined)
    })
  })
}
