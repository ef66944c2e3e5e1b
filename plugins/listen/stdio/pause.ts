import { setTimeout } from 'node:timers/promises'

const FIRST = 1_000
const LONGEST = 30_000

/** Waits before another try: as long as the server wants, and longer each time. `false` when everything ends. */
export async function pause(
  tries: number,
  wanted: number | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const backOff = Math.min(FIRST * 2 ** tries, LONGEST)
  // All clients of a server that comes back would come back with it.
  const jittered = backOff * (0.75 + Math.random() / 2)
  try {
    const wait = tries === 0 ? (wanted ?? jittered) : Math.max(wanted ?? 0, jittered)
    await setTimeout(wait, undefined, { signal })
    return true
  } catch {
    return false
  }
}
