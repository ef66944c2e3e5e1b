import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'

/** Makes the value at the first call and keeps it: it takes seconds to make. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const large = once(() =>
  Buffer.from(JSON.stringify({ active: true, keys: [], filler: 'x'.repeat(10_000_000) })),
)
const bomb = once(() => gzipSync(`{"active":true,"filler":"${'0'.repeat(50_000_000)}"}`))

/** Providers that respond wrongly, or never. */
export const providerFaults: Readonly<Record<string, RequestListener>> = {
  'a server that says nothing': () => {},
  'a server that hangs up': (request) => request.socket.destroy(),
  'status 500': (_request, response) => response.writeHead(500).end('{"active":true}'),
  HTML: (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Sign in'),
  'JSON that is no object': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('[1, null, "active"]'),
  'half an answer': (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
    response.write('{"active": tr')
    setImmediate(() => request.socket.destroy())
  },
  '10 MB': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(large()),
  'a gzip bomb': (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb()),
  'a redirect': (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
}

/** Responds with 429, and the seconds after which a client may try again. */
export const tooManyRequests =
  (retryAfter = 1): RequestListener =>
  (_request, response) =>
    response.writeHead(429, { 'retry-after': String(retryAfter) }).end()
