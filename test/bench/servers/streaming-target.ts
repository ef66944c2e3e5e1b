import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pattern, patterned } from './pattern.js'

// A target for event streams, and for bodies of many megabytes each way.
const open = new Map<ServerResponse, string>()

const server = createServer((request, response) => {
  answer(request, response).catch((error: Error) => {
    response.writeHead(500).end(error.message)
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { searchParams } = new URL(request.url ?? '/', 'http://target')
  const [what, by] = [searchParams.get('do'), searchParams.get('by') ?? '']
  if (what === 'send') sendToAll(response, by)
  else if (what === 'up') response.end(String(await patterned(request)))
  else if (what === 'down') {
    const size = Number(searchParams.get('size'))
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
    Readable.from(pattern(size)).pipe(response)
  } else stream(response, searchParams.has('once'), by)
}

function sendToAll(response: ServerResponse, by: string): void {
  const streams = [...open].filter(([, owner]) => owner === by)
  for (const [one] of streams) one.write('data: to all\n\n')
  response.end(String(streams.length))
}

function stream(response: ServerResponse, once: boolean, by: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: first\n\n')
  if (once) {
    response.end()
    return
  }
  open.set(response, by)
  response.on('close', () => open.delete(response))
}
