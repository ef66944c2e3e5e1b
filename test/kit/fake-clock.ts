import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'
import timers from 'node:timers/promises'

/** The time of this process, which the test moves. */
export interface FakeClock {
  /** Milliseconds since the epoch, as `Date.now()` returns them. */
  readonly now: number
  /**
   * Moves the time on by so many milliseconds. Each timer on the way runs at its own moment. Promises that follow from
   * it without the network have settled when this resolves; for everything else wait with `eventually`.
   */
  advance(milliseconds: number): Promise<void>
}

/**
 * Stops the clock: `Date`, `setTimeout`, `setInterval`, their promises and `AbortSignal.timeout` stand still until
 * the test moves them, for every plugin and library in this process. Sockets and files work as ever.
 * `performance.now()` runs on, and moves with the clock. Call this before the list is booted. The end of the test
 * restores the real time.
 */
export function fakeClock(t: TestContext, start: Date | number = Date.now()): FakeClock {
  const clock = new StoppedClock(Number(start))
  clock.install()
  t.after(() => clock.restore())
  return {
    get now() {
      return clock.now
    },
    advance: (milliseconds) => clock.advance(milliseconds),
  }
}

type Callback = (...given: unknown[]) => void

interface FakeTimer {
  at: number
  readonly run: () => void
  /** Milliseconds between two runs; undefined for a timer that runs once. */
  readonly every: number | undefined
}

// Saved before any test can replace them.
const real = {
  Date,
  setTimeout,
  setInterval,
  clearTimeout,
  clearInterval,
  pause: timers.setTimeout,
  abortAfter: AbortSignal.timeout,
  elapsed: performance.now.bind(performance),
}

/** Milliseconds of real time, independent of the fake clock. */
export const reallyElapsed = (): number => real.elapsed()

const LONGEST = 2 ** 31 - 1
/** Turns of the event loop in which chained promises settle. */
const TURNS = 5

/** Waits for real milliseconds, independent of the fake clock. */
export const reallyWait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void real.setTimeout(resolve, milliseconds))

// Not the timers of node:test: under those, a timer that was set before cannot be cleared any more, and fires.
class StoppedClock {
  // The keys are timers of Node that never come due: programs can clear, `unref` and print them as ever.
  private readonly due = new Map<NodeJS.Timeout, FakeTimer>()

  constructor(
    public now: number,
    private readonly start = now,
  ) {}

  install(): void {
    const moment = (): number => this.now
    const FakeDate = new Proxy(real.Date, {
      construct: (target, given, made) =>
        Reflect.construct(target, given.length === 0 ? [moment()] : given, made),
      apply: () => new real.Date(moment()).toString(),
      get: (target, key, receiver) => (key === 'now' ? moment : Reflect.get(target, key, receiver)),
    })
    const clear = (timer: NodeJS.Timeout | undefined): void => {
      if (timer !== undefined) this.due.delete(timer)
      real.clearTimeout(timer)
    }
    put({
      Date: FakeDate,
      setTimeout: (run: Callback, delay = 0, ...given: unknown[]) =>
        this.set(() => run(...given), delay, false),
      setInterval: (run: Callback, delay = 0, ...given: unknown[]) =>
        this.set(() => run(...given), delay, true),
      clearTimeout: clear,
      clearInterval: clear,
    })
    replacePromises(<T>(delay = 0, value?: T, options: WaitOptions = {}) =>
      this.pause(delay, value as T, options),
    )
    Object.assign(performance, { now: () => real.elapsed() + this.now - this.start })
    AbortSignal.timeout = (delay) => {
      const ending = new AbortController()
      this.set(() => ending.abort(new DOMException('it took too long', 'TimeoutError')), delay, false).unref()
      return ending.signal
    }
  }

  restore(): void {
    const { pause, abortAfter, elapsed: _, ...rest } = real
    // Without the own property, the method of the prototype is back.
    Reflect.deleteProperty(performance, 'now')
    put(rest)
    replacePromises(pause)
    AbortSignal.timeout = abortAfter
    for (const timer of this.due.keys()) real.clearTimeout(timer)
    this.due.clear()
  }

  async advance(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds
    for (;;) {
      await settled()
      const [timer, next] = this.earliest(until)
      if (timer === undefined || next === undefined) break
      this.now = Math.max(this.now, next.at)
      if (next.every === undefined) {
        this.due.delete(timer)
        real.clearTimeout(timer)
      } else next.at = this.now + next.every
      next.run()
    }
    this.now = until
    await settled()
  }

  private earliest(until: number): readonly [NodeJS.Timeout, FakeTimer] | readonly [] {
    let first: readonly [NodeJS.Timeout, FakeTimer] | readonly [] = []
    for (const entry of this.due) {
      if (entry[1].at <= until && entry[1].at < (first[1]?.at ?? Infinity)) first = entry
    }
    return first
  }

  private set(run: () => void, delay: number, again: boolean): NodeJS.Timeout {
    const length = delay >= 1 && delay <= LONGEST ? Math.trunc(delay) : 1
    const timer = real.setTimeout(() => {}, LONGEST)
    const due = { at: this.now + length, run, every: again ? length : undefined }
    this.due.set(timer, due)
    timer.refresh = () => {
      due.at = this.now + length
      this.due.set(timer, due)
      return timer
    }
    return timer
  }

  private pause<T>(delay: number, value: T, { signal, ref = true }: WaitOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(Object.assign(new Error('aborted', { cause: signal?.reason }), ABORTED))
      if (signal?.aborted === true) return stop()
      const cancel = (): void => {
        this.due.delete(timer)
        real.clearTimeout(timer)
        stop()
      }
      const finish = (): void => {
        signal?.removeEventListener('abort', cancel)
        resolve(value)
      }
      const timer = this.set(finish, delay, false)
      if (!ref) timer.unref()
      signal?.addEventListener('abort', cancel)
    })
  }
}

interface WaitOptions {
  readonly signal?: AbortSignal
  readonly ref?: boolean
}

const ABORTED = { name: 'AbortError', code: 'ABORT_ERR' }

const put = (values: Readonly<Record<string, unknown>>): unknown => Object.assign(globalThis, values)

/** Also for modules that imported it by name. */
function replacePromises(pause: unknown): void {
  Object.assign(timers, { setTimeout: pause })
  syncBuiltinESMExports()
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => void setImmediate(resolve))
}
