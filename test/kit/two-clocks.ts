import type { TestContext } from 'node:test'

/**
 * The time of day and the time that went by, as this process is told them. Timers go on as ever. Where they are `stopped`, no
 * time goes by but what the test says, however busy the machine is.
 */
export function twoClocks(t: TestContext, { stopped = false } = {}) {
  // Whole milliseconds: sums of fractions are not exact, and no time goes by that would make up for it.
  const start = { elapsed: Math.ceil(performance.now()), day: Date.now() }
  const elapsed = stopped ? () => start.elapsed : performance.now.bind(performance)
  const now = stopped ? () => start.day : Date.now.bind(Date)
  const moved = { day: 0, elapsed: 0 }
  t.mock.method(Date, 'now', () => now() + moved.day)
  t.mock.method(performance, 'now', () => elapsed() + moved.elapsed)
  return {
    /** Somebody sets the clock: so many milliseconds from the true time. */
    set(milliseconds: number): void {
      moved.day = moved.elapsed + milliseconds
    },
    /** So many milliseconds have gone by since the start, beside those that have. */
    passed(milliseconds: number): void {
      moved.day += milliseconds - moved.elapsed
      moved.elapsed = milliseconds
    },
  }
}

export const HOUR = 3_600_000
