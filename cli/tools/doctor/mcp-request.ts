import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { GreetOptions } from 'sallyport'
import { tunnelsTo } from './proxy.js'
import { readTlsFiles, STEP_TIMEOUT, type TlsFiles } from './tls.js'

export interface McpRequest {
  readonly method?: 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** Sends a request to an MCP server, and returns the head of the response. */
export type SendMcp = (request: McpRequest) => Promise<IncomingMessage>

/** Sends requests as an MCP client would, through the proxy of the environment. */
export async function mcpSender(
  written: string,
  { host, bearer, direct = false, ...files }: GreetOptions = {},
): Promise<SendMcp> {
  const tls = await readTlsFiles(files)
  const url = new URL(written)
  const request = url.protocol === 'https:' ? secureRequest : plainRequest
  const fixed = {
    host: host ?? url.host,
    accept: 'application/json, text/event-stream',
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
  }
  return ({ method = 'POST', headers = {}, body = '', signal }) => {
    const content = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const connecting = direct ? {} : throughProxy(url, tls)
    return new Promise((resolve, reject) => {
      const options = { method, headers: { ...fixed, ...content, ...headers }, timeout: STEP_TIMEOUT, signal }
      const asking = request(url, { ...options, ...tls, ...connecting }, resolve)
      asking.on('timeout', () => asking.destroy(new Error('it does not answer within 5 s')))
      asking.on('error', reject)
      asking.end(body)
    })
  }
}

function throughProxy(url: URL, tls: TlsFiles): Pick<RequestOptions, 'createConnection'> {
  const tunnels = tunnelsTo(url, tls)
  if (tunnels === undefined) return {}
  return {
    createConnection(_options, created) {
      // The types want a socket beside an error too.
      tunnels.open(url, (error, socket) => created(error, socket as Socket))
      return undefined
    },
  }
}
