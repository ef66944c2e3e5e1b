import { connect } from 'node:net'

/**
 * Requests an upgrade with a byte behind the head, which only a server that accepts the upgrade reads, and disconnects
 * after the response. Returns its status, or 0 without a response.
 */
export function upgradeAndLeave(port: number, path: string, token?: string): Promise<number> {
  const lines = [
    `GET ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'connection: upgrade',
    'upgrade: websocket',
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
  ]
  const socket = connect({ host: '127.0.0.1', port })
  return new Promise((resolve) => {
    let status = 0
    socket.on('error', () => {}).on('close', () => resolve(status))
    socket.once('data', (head) => {
      status = Number(String(head).slice(9, 12))
      socket.destroy()
    })
    socket.write(`${lines.join('\r\n')}\r\n\r\nx`)
  })
}
