import { once } from 'node:events'
import { WebSocket } from 'undici'

/** Makes a process with `--inspect` collect its garbage, so that only memory in use remains. */
export async function collectGarbage(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [{ webSocketDebuggerUrl: url }] = (await answer.json()) as [{ webSocketDebuggerUrl: string }]
  const socket = new WebSocket(url)
  try {
    await once(socket, 'open')
    const collected = once(socket, 'message', { signal: AbortSignal.timeout(10_000) })
    socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }))
    await collected
  } finally {
    socket.close()
  }
}
