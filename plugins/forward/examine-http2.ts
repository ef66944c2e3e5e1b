import { readFileSync } from 'node:fs'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { createSecureContext } from 'node:tls'
import type { Examination, GreetOptions, InitializeResponse } from 'sallyport'
import { examineTarget } from './examine.js'
import { http2Connection } from './http2-connection.js'
import type { TlsSettings } from './options.js'

const TIMEOUT = 5_000

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

/** Examines the target as `forward/http` does, but sends `initialize` by HTTP/2: the target may speak nothing else. */
export function examineHttp2Target(
  examination: Examination,
  settings: TlsSettings & { readonly target: string },
): Promise<void> {
  return examineTarget({ ...examination, probes: { ...examination.probes, greet } }, settings)
}

async function greet(
  url: string,
  { host, bearer, ...files }: GreetOptions = {},
): Promise<InitializeResponse> {
  const { origin, host: own, pathname, search } = new URL(url)
  const session = connect(origin, {
    createConnection: () => http2Connection(origin, contextOf(files)),
  })
  try {
    const headers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      const late = (): void => reject(new Error('it does not respond within 5 s'))
      session.on('error', reject).on('close', () => reject(new Error('it closed the connection')))
      const stream = session.request({
        ':method': 'POST',
        ':path': pathname + search,
        ':authority': host ?? own,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      })
      stream.on('response', resolve).on('error', reject).setTimeout(TIMEOUT, late)
      stream.end(INITIALIZE)
    })
    return { status: Number(headers[':status']), challenge: headers['www-authenticate'] }
  } finally {
    session.destroy()
  }
}

function contextOf({ caFile, certFile, keyFile }: GreetOptions) {
  const read = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path))
  return createSecureContext({ ca: read(caFile), cert: read(certFile), key: read(keyFile) })
}
