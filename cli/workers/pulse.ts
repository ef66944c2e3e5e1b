import type { Log } from 'sallyport'
import type { Hand } from './hand.js'

const BETWEEN_LOOKS = 3_000
// Counted in looks and not by the clock: when the whole machine has slept, nobody has missed more than one.
const MOST_SILENT = 4

/**
 * Kills a worker that is there and does nothing. Node would go on waiting for it, and so would whoever asks over a
 * connection that it has, whoever asks all workers something, and an exchange of lists.
 */
export function watchPulse(hands: () => readonly Hand[], log: Log): () => void {
  const look = (): void => {
    for (const hand of hands()) {
      if (hand.knock() < MOST_SILENT) continue
      log.error({ worker: hand.number, pid: hand.pid }, 'a worker hangs and is killed')
      hand.kill()
    }
  }
  const timer = setInterval(look, BETWEEN_LOOKS)
  return () => clearInterval(timer)
}
