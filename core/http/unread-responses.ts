import type { Socket } from 'node:net'
import { CountedResponse } from './counted-response.js'
import { currentResponse } from './current-response.js'

/** The limit for all connections of a port together. */
const MAX_BYTES = 64 * 1024 * 1024
const INTERVAL = 250

interface Progress {
  /** How many bytes Node has written to the system. */
  readonly written: number
  /** When this number was seen for the first time. */
  readonly since: number
}

interface Unread extends Progress {
  readonly socket: Socket
  readonly bytes: number
}

/**
 * Limits the bytes of responses that wait for the clients of a port to read them. Beyond the limit it ends the
 * connections whose clients have read nothing for longest.
 */
export class UnreadResponses {
  private readonly progress = new WeakMap<Socket, Progress>()
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly sockets: ReadonlySet<Socket>,
    private readonly ended: (connections: number, bytes: number) => void,
  ) {}

  /**
   * Called at each write. Checks from time to time until all is read: counting at each write would slow each request.
   */
  readonly watch = (): void => {
    this.timer ??= setInterval(() => this.check(), INTERVAL).unref()
  }

  private check(): void {
    const now = performance.now()
    const unread: Unread[] = []
    let all = 0
    for (const socket of this.sockets) {
      const bytes = socket.writableLength + unsentOf(socket)
      if (bytes === 0) continue
      all += bytes
      unread.push({ socket, bytes, ...this.progressOf(socket, now) })
    }
    if (all > MAX_BYTES) this.endStalled(unread, all, now)
    if (unread.length > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  private progressOf(socket: Socket, now: number): Progress {
    const written = socket.bytesWritten - socket.writableLength
    const before = this.progress.get(socket)
    if (before?.written === written) return before
    const progress = { written, since: now }
    this.progress.set(socket, progress)
    return progress
  }

  /** Spares connections whose client has read something, or that were first seen, since the last check. */
  private endStalled(unread: readonly Unread[], all: number, now: number): void {
    const stalled = unread.filter(({ since }) => since < now).sort((a, b) => a.since - b.since)
    let [left, connections] = [all, 0]
    for (const { socket, bytes } of stalled) {
      if (left <= MAX_BYTES) break
      socket.destroy()
      left -= bytes
      connections++
    }
    if (connections > 0) this.ended(connections, all - left)
  }
}

function unsentOf(socket: Socket): number {
  const response = currentResponse(socket)
  return response instanceof CountedResponse ? response.unsent : 0
}
