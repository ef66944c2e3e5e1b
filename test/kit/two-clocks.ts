import type { TestContext } from 'node:test'

/**
 * Lets the test move `Date.now()` and `performance.now()` apart. Timers work as ever. With `stopped`, both clocks stand
 * still until the test moves them, however busy the machine is.
 */
export function twoClocks(t: TestContext, { stopped = false } = {}) {
  // Whole milliseconds: sums of fractions are not exact, and a stopped clock never catches up.
  const start = { elapsed: Math.ceil(performance.now()), day: Date.now() }
  const elapsed = stopped ? () => start.elapsed : performance.now.bind(performance)
  const now = stopped ? () => start.day : Date.now.bind(Date)
  const moved = { day: 0, elapsed: 0 }
  t.mock.method(Date, 'now', () => now() + moved.day)
  t.mock.method(performance, 'now', () => elapsed() + moved.elapsed)
  return {
    /** Sets the wall clock to so many milliseconds from the true time. */
    set(milliseconds: number): void {
      moved.day = moved.elapsed + milliseconds
    },
    /** Lets so many further milliseconds pass, counted from the start, on both clocks. */
    passed(milliseconds: number): void {
      moved.day += milliseconds - moved.elapsed
      moved.elapsed = milliseconds
    },
  }
}

export const HOUR = 3_600_000
