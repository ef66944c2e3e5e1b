import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from './session.js'

interface Dependencies {
  readonly open: () => Promise<Session>
  /** Counts a connection that was lost. */
  readonly lost: () => void
}

const FIRST_PAUSE = 100
const LONGEST_PAUSE = 5_000

/** One connection that receives notifications. It reconnects for ever; notifications meanwhile are lost. */
export class Listener {
  private readonly wakers = new Map<string, Set<() => void>>()
  private readonly stopping = new AbortController()
  private session: Session | undefined
  private running: Promise<void> | undefined

  constructor(private readonly dependencies: Dependencies) {}

  /** Calls `wake` after each notification, and after each reconnection. */
  listen(channel: string, wake: () => void): () => void {
    const wakers = this.wakers.get(channel) ?? new Set()
    this.wakers.set(channel, wakers.add(wake))
    this.running ??= this.run()
    // An open session subscribes to the channel now. If that fails, the session ends, and the next one subscribes to
    // all.
    void this.session?.run(`listen "${channel}"`).then(wake, () => {})
    return () => void wakers.delete(wake)
  }

  async close(): Promise<void> {
    this.stopping.abort()
    this.session?.end()
    await this.running
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping
    let pause = FIRST_PAUSE
    while (!signal.aborted) {
      try {
        const session = await this.dependencies.open()
        await this.serve(session)
        pause = FIRST_PAUSE
        if (!signal.aborted) this.dependencies.lost()
      } catch {
        pause = Math.min(pause * 2, LONGEST_PAUSE)
      }
      await delay(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => {})
    }
  }

  private async serve(session: Session): Promise<void> {
    const ended = new Promise<void>((resolve) =>
      session.ended.addEventListener('abort', () => resolve(), { once: true }),
    )
    if (this.stopping.signal.aborted) return session.end()
    session.onNotification((channel) => this.wake(channel))
    this.session = session
    for (const channel of this.wakers.keys()) await session.run(`listen "${channel}"`)
    for (const channel of this.wakers.keys()) this.wake(channel)
    await ended
    this.session = undefined
  }

  private wake(channel: string): void {
    for (const wake of this.wakers.get(channel) ?? []) wake()
  }
}
