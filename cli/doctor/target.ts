import { type IncomingHttpHeaders, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { ProxyTunnels } from 'sallyport'
import { Chart, messageOf } from '../findings/chart.js'
import { examineConnection } from './connection.js'
import { tunnelsTo } from './proxy.js'
import { type Client, walk } from './walk.js'

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

const PATIENCE = 5_000

const GREETING = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'sallyport doctor', version: '1' },
  },
})

/** Greets an MCP server as a client without a token would, and follows where it points. */
export async function examineTarget(
  about: string,
  written: string,
  { bearer, client }: Outgoing = {},
): Promise<Chart['findings']> {
  const chart = new Chart(about)
  if (!(await examineConnection(chart, written, {}))) return chart.findings
  try {
    const url = new URL(written)
    const greet = greeter(url, tunnelsTo(url, PATIENCE))
    const reply = await greet(url.host)
    if (reply.status === 401) {
      chart.ok('target', 'it asks for a token')
      if (bearer === undefined) await walk(chart, written, challengeOf(reply), client)
      else examineBearer(chart, await greet(url.host, bearer))
    } else if (reply.status >= 200 && reply.status < 300) {
      chart.ok('target', `it answers without a token (${reply.status})`)
    } else await examineRefusal(chart, url, reply, greet)
  } catch (error) {
    chart.wrong(
      'target',
      'TARGET_FAILED',
      `no answer: ${messageOf(error)}`,
      'look into the log of the target',
    )
  }
  return chart.findings
}

/** What the gateway will send there, as far as it can be told before anybody signs in. */
export interface Outgoing {
  readonly bearer?: string | undefined
  readonly client?: Client | undefined
}

function examineBearer(chart: Chart, { status, headers }: Reply): void {
  if (status !== 401 && status !== 403) {
    chart.ok('credential', `the target takes the token (${status})`)
    return
  }
  const error = /error="?([\w-]+)/.exec(headers['www-authenticate'] ?? '')?.[1]
  const detail = `the target refuses the token that it is sent (${[status, error].filter(Boolean).join(', ')})`
  const advice =
    status === 401
      ? 'get a new one, and check that it was issued for this server'
      : 'get one with more scopes, or the right of its owner to use this server'
  chart.wrong('credential', 'CREDENTIAL_REFUSED', detail, advice)
}

/** The registry's or the proxy's own address as clients know it: 401, metadata, authorization server. */
export async function examineResource(about: string, written: string): Promise<Chart['findings']> {
  const chart = new Chart(about)
  if (!(await examineConnection(chart, written, { direct: true }))) {
    const last = chart.findings.at(-1)
    const advice = 'start the gateway and ask again, or correct the URL of the resource'
    if (last?.check === 'TCP') {
      chart.findings.pop()
      chart.warning(last.check, last.code, last.detail, advice)
    }
    return chart.findings
  }
  try {
    const url = new URL(written)
    const reply = await greeter(url)(url.host)
    await walk(chart, written, challengeOf(reply))
  } catch (error) {
    const advice = 'look into the log of what stands there'
    chart.wrong('resource', 'RESOURCE_FAILED', `no answer: ${messageOf(error)}`, advice)
  }
  return chart.findings
}

/** A server against DNS rebinding refuses names that it does not know; such a server answers to `localhost`. */
async function examineRefusal(chart: Chart, url: URL, { status }: Reply, greet: Greeter): Promise<void> {
  if ([400, 403, 421].includes(status)) {
    const { port } = url
    const local = port === '' ? 'localhost' : `localhost:${port}`
    const other = url.host === local ? undefined : await greet(local)
    if (other !== undefined && other.status !== status) {
      const detail = `it refuses the Host ${url.host} (${status}), and takes ${local} (${other.status})`
      chart.wrong(
        'host',
        'HOST_REFUSED',
        detail,
        `let it accept ${url.host}, or use http://${local} as target`,
      )
      return
    }
  }
  const advice =
    status === 404 || status === 405
      ? 'correct the path: an MCP server often is at /mcp'
      : 'look into the log of the target'
  chart.wrong('target', 'TARGET_FAILED', `it answers ${status} to an initialize request`, advice)
}

const challengeOf = ({ headers }: Reply): string | undefined => headers['www-authenticate']

type Greeter = (host: string, bearer?: string) => Promise<Reply>

function greeter(url: URL, tunnels?: ProxyTunnels): Greeter {
  const request = url.protocol === 'https:' ? secureRequest : plainRequest
  const createConnection: RequestOptions['createConnection'] = (_options, created) => {
    // The types want a socket beside an error too.
    tunnels?.open(url, (error, socket) => created(error, socket as Socket))
    return undefined
  }
  return (host, bearer) =>
    new Promise((resolve, reject) => {
      const headers = {
        host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(GREETING),
        accept: 'application/json, text/event-stream',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      }
      const way = tunnels === undefined ? {} : { createConnection }
      const asking = request(url, { method: 'POST', headers, timeout: PATIENCE, ...way }, (response) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers })
        // What it says may be a stream without end.
        response.destroy()
      })
      asking.on('timeout', () => asking.destroy(new Error('it does not answer within 5 s')))
      asking.on('error', reject)
      asking.end(GREETING)
    })
}
