import type { Gateway } from 'sallyport'
import { LogThrottle } from 'sallyport/toolkit'

/** Where an entry of a list reports events that it could not store. */
export interface LossReport {
  log(level: 'error' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void
  count(lost: number): void
  flush(): void
}

export function lossReport(gateway: Pick<Gateway, 'id' | 'log' | 'meter' | 'onStart'>): LossReport {
  const { id, log, meter } = gateway
  const throttle = new LogThrottle(log)
  const lost = meter.counter('audit_lost_total', 'Audit events that were not stored, by entry of the list', [
    'plugin',
  ])
  // Begins the series at 0: a rate would miss the first loss otherwise.
  gateway.onStart(() => lost(0, { plugin: id }))
  return {
    log: (level, message, fields) => throttle.write(log, level, message, {}, fields),
    count: (events) => lost(events, { plugin: id }),
    flush: () => throttle.flush(),
  }
}

/** Milliseconds without a loss after which events count as stored again. */
const QUIET = 3_000

/** Counts lost events. Logs when losses begin, and, once events are stored again, how many were lost. */
export class Losses {
  private lost = 0
  private failure: string | undefined
  private recovery: NodeJS.Timeout | undefined

  constructor(private readonly report: () => LossReport) {}

  /** An attempt to store events failed. They wait: nothing is lost yet. */
  failed(reason: string): void {
    this.disturb()
    if (this.failure === undefined)
      this.report().log('warn', 'audit events cannot be stored, and wait in memory', { reason })
    this.failure = reason
  }

  lose(events: number, reason = this.failure ?? 'earlier events still wait to be stored'): void {
    if (events === 0) return
    this.disturb()
    if (this.lost === 0) this.report().log('error', 'audit events are being lost', { reason })
    this.lost += events
    this.report().count(events)
  }

  /** Events were stored. Losses that follow each other within `QUIET` are reported as one. */
  stored(): void {
    if (this.lost > 0) this.recovery ??= setTimeout(() => this.recovered(), QUIET).unref()
    else if (this.failure !== undefined) this.recovered()
  }

  /** The delivery has ended: no more events will be stored. */
  ended(): void {
    this.disturb()
    if (this.lost > 0) this.report().log('error', 'audit events were lost', { lost: this.lost })
  }

  /** Reports each event that comes after the end, since no later report counts them. */
  loseAfterEnd(): void {
    this.lost++
    this.report().count(1)
    const reason = 'the last event came after the audit had ended'
    this.report().log('error', 'audit events were lost', { lost: this.lost, reason })
  }

  private recovered(): void {
    this.report().log('warn', 'audit events are stored again', { lost: this.lost })
    this.failure = undefined
    this.lost = 0
    this.disturb()
  }

  private disturb(): void {
    clearTimeout(this.recovery)
    this.recovery = undefined
  }
}
