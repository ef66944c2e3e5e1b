import { request } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import { basicAuthorization, proxyChoice } from 'sallyport'
import { type Chart, messageOf } from '../findings/chart.js'
import { hostOf, portOf } from './tls.js'

/** The proxy of the environment that leads to a URL; nothing for the direct way. */
export function proxyTo(url: URL): URL | undefined {
  const proxy = proxyChoice(process.env)(url)
  return proxy === undefined ? undefined : new URL(proxy)
}

/** A tunnel to where the URL leads, or nothing when the proxy is in the way. */
export async function examineProxy(
  chart: Chart,
  proxy: URL,
  url: URL,
  patience: number,
): Promise<Socket | undefined> {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const around = `or name ${hostOf(url)} in NO_PROXY`
  try {
    const { status, socket } = await tunnel(proxy, `${hostOf(url)}:${portOf(url)}`, patience)
    if (status === 200) {
      chart.ok('proxy', `through ${proxy.origin}, as ${name} says`)
      return socket
    }
    socket.destroy()
    const wants = status === 407 ? `write its user and password into ${name}` : 'let the proxy pass it'
    const detail = `${proxy.origin} opens no way to ${url.host} (${status})`
    chart.wrong('proxy', 'PROXY_REFUSES', detail, `${wants}, ${around}`)
  } catch (error) {
    const detail = `${proxy.origin}, which ${name} names, cannot be reached: ${messageOf(error)}`
    chart.wrong('proxy', 'PROXY_UNREACHABLE', detail, `correct ${name}, ${around}`)
  }
  return undefined
}

function tunnel(proxy: URL, to: string, patience: number): Promise<{ status: number; socket: Socket }> {
  const { username, password, protocol } = proxy
  const authorization = basicAuthorization(decodeURIComponent(username), decodeURIComponent(password))
  const asking = (protocol === 'https:' ? secureRequest : request)({
    host: hostOf(proxy),
    port: portOf(proxy),
    method: 'CONNECT',
    path: to,
    headers: { host: to, ...(username !== '' && { 'proxy-authorization': authorization }) },
    timeout: patience,
  })
  return new Promise((resolve, reject) => {
    asking.on('connect', ({ statusCode: status = 0 }, socket: Socket) => resolve({ status, socket }))
    asking.on('response', ({ statusCode: status = 0, socket }) => resolve({ status, socket }))
    asking.on('timeout', () => asking.destroy(new Error('it does not answer')))
    asking.on('error', reject)
    asking.end()
  })
}
