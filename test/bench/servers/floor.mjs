// The cost of Node itself: node:http in, or node:https with a certificate and a key, an undici dispatch out, and
// nothing else.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { Pool } from 'undici'

const [, , target, cert, key] = process.argv
const { origin } = new URL(target)
const pool = new Pool(origin, { bodyTimeout: 0 })

const answer = (request, response) => {
  const { host, connection, ...headers } = request.headers
  const body = request.method === 'GET' ? null : request
  let resume
  pool.dispatch(
    { path: request.url, method: request.method, headers, body },
    {
      onConnect() {},
      onHeaders(status, raw, goOn) {
        resume = goOn
        const passed = []
        for (let at = 0; at < raw.length; at += 2) {
          const name = raw[at].latin1Slice()
          if (name !== 'connection' && name !== 'keep-alive') passed.push(name, raw[at + 1].latin1Slice())
        }
        response.writeHead(status, passed)
        return true
      },
      onData(chunk) {
        const more = response.write(chunk)
        if (!more) response.once('drain', resume)
        return more
      },
      onComplete: () => response.end(),
      onError: () => response.destroy(),
    },
  )
}
const server =
  cert === undefined
    ? createServer(answer)
    : createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${cert === undefined ? 'http' : 'https'}://127.0.0.1:${server.address().port}\n`),
)
