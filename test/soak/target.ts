import { createServer, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'

// The target of a soak, which may be killed and restarted at any time, on the port of its first argument. The response
// to a POST is its own body, or as many bytes as `?size=` says; a GET opens a stream with an event every half second;
// `?streams` returns how many are open. A WebSocket of `?websocket` sends everything back.
const open = new Set<ServerResponse | Duplex>()

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
// An upgrade of any other path gets an event stream, as from a server that ignores the header.
server.on('upgrade', (request, socket) => {
  open.add(socket)
  socket.on('error', () => {}).on('close', () => open.delete(socket))
  if (request.url === '/mcp?websocket') {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    socket.pipe(socket)
  } else {
    socket.resume().on('end', () => socket.end())
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: first\n\n')
  }
})
server.keepAliveTimeout = 60_000
setInterval(() => {
  for (const one of open) if (one instanceof ServerResponse) one.write('data: more\n\n')
}, 500)
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
