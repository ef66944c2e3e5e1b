import type { Logger } from 'pino'
import type { Meter } from '../contract/meter.js'

type Listener = (count: number) => void

const DROPPED = Symbol('dropped lines')

/** Counts the lines of a log that could not be written, also while no list runs. */
export class DroppedLines {
  private readonly listeners: Listener[] = []
  private unreported = 0
  private reporting = false

  /** Lets `meterDroppedLines` find this counter. Child loggers inherit it. */
  attachTo(log: Logger): Logger {
    return Object.defineProperty(log, DROPPED, { value: this })
  }

  count(lines: number): void {
    this.unreported += lines
    const last = this.listeners.at(-1)
    // The listener itself may fail, log that, and have that line dropped.
    if (last === undefined || this.unreported === 0 || this.reporting) return
    this.reporting = true
    const due = this.unreported
    this.unreported = 0
    try {
      last(due)
    } finally {
      this.reporting = false
    }
  }

  onDropped(listener: Listener): () => void {
    this.listeners.push(listener)
    this.count(0)
    return () => {
      const index = this.listeners.lastIndexOf(listener)
      if (index >= 0) this.listeners.splice(index, 1)
    }
  }
}

/**
 * Counts the dropped lines in a metric, also lines that were dropped before, until the returned function is called.
 */
export function meterDroppedLines(log: Logger, meter: Pick<Meter, 'counter'>): () => void {
  const dropped: unknown = Reflect.get(log, DROPPED)
  const listener = meter.counter('log_lines_dropped_total', 'Lines of the log that could not be written')
  return dropped instanceof DroppedLines ? dropped.onDropped(listener) : () => {}
}
