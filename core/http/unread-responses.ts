import type { Socket } from 'node:net'
import { CountedResponse } from './counted-response.js'
import { currentResponse } from './current-response.js'

/** Of all connections of a port together. */
const MOST_BYTES = 64 * 1024 * 1024
const INTERVAL = 250

interface Progress {
  /** How many bytes the system had taken. */
  readonly taken: number
  /** When it had taken so many for the first time. */
  readonly since: number
}

interface Unread extends Progress {
  readonly socket: Socket
  readonly bytes: number
}

/**
 * Limits the bytes of responses that wait for the clients of a port to read them. Beyond that, connections end whose
 * clients have read nothing for longest.
 */
export class UnreadResponses {
  private readonly progress = new WeakMap<Socket, Progress>()
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly sockets: ReadonlySet<Socket>,
    private readonly ended: (connections: number, bytes: number) => void,
  ) {}

  /** Looks from time to time, as long as there are connections: to count at each write would cost each request. */
  watch(): void {
    this.timer ??= setInterval(() => this.check(), INTERVAL).unref()
  }

  private check(): void {
    if (this.sockets.size === 0) {
      clearInterval(this.timer)
      this.timer = undefined
    }
    const now = performance.now()
    const unread: Unread[] = []
    let all = 0
    for (const socket of this.sockets) {
      const bytes = socket.writableLength + unsentOf(socket)
      if (bytes === 0) continue
      all += bytes
      unread.push({ socket, bytes, ...this.progressOf(socket, now) })
    }
    if (all > MOST_BYTES) this.endStalled(unread, all, now)
  }

  private progressOf(socket: Socket, now: number): Progress {
    const taken = socket.bytesWritten - socket.writableLength
    const before = this.progress.get(socket)
    if (before?.taken === taken) return before
    const progress = { taken, since: now }
    this.progress.set(socket, progress)
    return progress
  }

  /** Not those that were read, or first seen, since the last look. */
  private endStalled(unread: readonly Unread[], all: number, now: number): void {
    const stalled = unread.filter(({ since }) => since < now).sort((a, b) => a.since - b.since)
    let [left, connections] = [all, 0]
    for (const { socket, bytes } of stalled) {
      if (left <= MOST_BYTES) break
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
