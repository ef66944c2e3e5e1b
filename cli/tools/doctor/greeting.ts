import { request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Probes } from 'sallyport'
import { tunnelsTo } from './proxy.js'
import { PATIENCE, readTlsFiles, type TlsFiles } from './tls.js'

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'sallyport doctor', version: '1' },
  },
})

/** Greets an MCP server as a client would. */
export const greet: Probes['greet'] = async (written, { host, bearer, direct = false, ...files } = {}) => {
  const tls = await readTlsFiles(files)
  const url = new URL(written)
  const request = url.protocol === 'https:' ? secureRequest : plainRequest
  const headers = {
    host: host ?? url.host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(INITIALIZE),
    accept: 'application/json, text/event-stream',
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
  }
  const connecting = direct ? {} : throughProxy(url, tls)
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers, timeout: PATIENCE, ...tls, ...connecting }
    const asking = request(url, options, (response) => {
      resolve({ status: response.statusCode ?? 0, challenge: response.headers['www-authenticate'] })
      // What it says may be a stream without end.
      response.destroy()
    })
    asking.on('timeout', () => asking.destroy(new Error('it does not answer within 5 s')))
    asking.on('error', reject)
    asking.end(INITIALIZE)
  })
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
