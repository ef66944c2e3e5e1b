import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 'slow',
  method: 'tools/call',
  params: { name: 'x'.repeat(400) },
})
const LONG = 2_000_000

/** Writes its request a few bytes at a time, and expects its own body as the response. */
export async function slowWriter(port: number, token: string): Promise<void> {
  const text = `${head(port, token, '/mcp')}${BODY}`
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const answered = whole(socket)
  for (let at = 0; at < text.length; at += 40) {
    socket.write(text.slice(at, at + 40))
    await pause(100)
  }
  const answer = await answered
  if (!answer.startsWith('HTTP/1.1 200 ') || !answer.endsWith(BODY))
    throw new Error(`${answer.slice(0, 200)}`)
}

/** Reads a long response with pauses. */
export async function slowReader(port: number, token: string): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.write(`${head(port, token, `/mcp?size=${LONG}`)}${BODY}`)
  const answer = await whole(socket, 20)
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`${answer.slice(0, 200)}`)
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  if (body !== 'x'.repeat(LONG)) throw new Error(`${body.length} of ${LONG} bytes came`)
}

const head = (port: number, token: string, path: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'connection: close',
    `content-length: ${BODY.length}`,
    '\r\n',
  ].join('\r\n')

/** Reads a stream to its end, with a pause of so many milliseconds after each chunk. */
async function whole(socket: NodeJS.ReadableStream, restMs = 0): Promise<string> {
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (restMs > 0) await pause(restMs)
  }
  return text
}
