// What the runtime itself costs: node:http in, an undici dispatch out, and nothing between.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const { origin, pathname } = new URL(process.argv[2])
const pool = new Pool(origin, { connections: 64 })

const server = createServer((request, response) => {
  const { host, connection, ...headers } = request.headers
  const body = request.method === 'GET' || request.method === 'HEAD' ? null : request
  pool.dispatch(
    { path: pathname, method: request.method, headers, body },
    {
      onConnect() {},
      onHeaders(status, raw) {
        response.writeHead(
          status,
          raw
            .map(String)
            .filter((_, index, all) => !/^(connection|keep-alive)$/i.test(all[index - (index % 2)])),
        )
        return true
      },
      onData: (chunk) => response.write(chunk),
      onComplete: () => response.end(),
      onError: () => response.destroy(),
    },
  )
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
