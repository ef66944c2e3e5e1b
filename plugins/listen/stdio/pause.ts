import { setTimeout } from 'node:timers/promises'

const FIRST = 1_000
const LONGEST = 30_000

/** Waits before another try: as long as the server set, and longer each time. `false` when the signal aborts. */
export async function pause(
  tries: number,
  wanted: number | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const backOff = Math.min(FIRST * 2 ** tries, LONGEST)
  // Otherwise all clients of a restarted server would reconnect at once.
  const jittered = backOff * (0.75 + Math.random() / 2)
  try {
    const wait = tries === 0 ? (wanted ?? jittered) : Math.max(wanted ?? 0, jittered)
    await setTimeout(wait, undefined, { signal })
    return true
  } catch {
    return false
  }
}
