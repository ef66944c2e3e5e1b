import type { Log } from 'sallyport'
import type { WorkerHandle } from './worker-handle.js'

const INTERVAL = 3_000
// Counted in pings and not by the clock: after the whole machine has slept, no worker has missed more than one.
const MAX_MISSED = 4

/**
 * Kills a worker that runs and does nothing. Node would wait for it forever, and so would the clients of its
 * connections, requests on the internal port, and a reload.
 */
export function startWatchdog(handles: () => readonly WorkerHandle[], log: Log): () => void {
  const check = (): void => {
    for (const handle of handles()) {
      if (handle.ping() < MAX_MISSED) continue
      log.error({ worker: handle.number, pid: handle.pid }, 'a worker hangs and is killed')
      handle.kill()
    }
  }
  const timer = setInterval(check, INTERVAL)
  return () => clearInterval(timer)
}
