import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

// The target of a soak. It is ended and started again at any time, on the port of its first argument. A POST is
// answered with its own body, or with as many bytes as `?size=` asks for; a GET opens a stream with an event every half
// second; `?streams` tells how many are open.
const open = new Set<ServerResponse>()

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://target')
  if (searchParams.has('streams')) response.end(String(open.size))
  else if (request.method === 'POST') {
    const size = Number(searchParams.get('size') ?? 0)
    text(request).then(
      (body) => {
        response.setHeader('content-type', 'application/json')
        response.end(size > 0 ? 'x'.repeat(size) : body)
      },
      () => response.destroy(),
    )
  } else {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n')
    open.add(response)
    response.on('close', () => open.delete(response))
  }
})
server.keepAliveTimeout = 60_000
setInterval(() => {
  for (const one of open) one.write('data: more\n\n')
}, 500)
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
