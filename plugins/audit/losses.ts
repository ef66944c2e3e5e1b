import type { Gateway } from 'sallyport'
import { LogThrottle } from 'sallyport/toolkit'

/** Where an entry says what it could not store. */
export interface LossReport {
  /** Stopped receiving, or receives again. */
  say(level: 'error' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void
  count(lost: number): void
  flush(): void
}

export function lossReport(gateway: Pick<Gateway, 'id' | 'log' | 'meter' | 'onStart'>): LossReport {
  const { id, log, meter } = gateway
  const throttle = new LogThrottle(log)
  const lost = meter.counter('audit_lost_total', 'Audit events that were not stored, by entry of the list', [
    'plugin',
  ])
  // What is added up over time would miss the first loss, if the series began with it.
  gateway.onStart(() => lost(0, { plugin: id }))
  return {
    say: (level, message, fields) => throttle.write(log, level, message, {}, fields),
    count: (events) => lost(events, { plugin: id }),
    flush: () => throttle.flush(),
  }
}

/** Milliseconds without a loss after which events count as stored again. */
const QUIET = 3_000

/** Counts events that are lost, and says so twice: when it begins, and how many were lost when events are stored again. */
export class Losses {
  private lost = 0
  private trouble: string | undefined
  private quiet: NodeJS.Timeout | undefined

  constructor(private readonly report: () => LossReport) {}

  /** Events wait: nothing is lost yet. */
  failed(reason: string): void {
    this.disturb()
    if (this.trouble === undefined)
      this.report().say('warn', 'audit events cannot be stored, and wait in memory', { reason })
    this.trouble = reason
  }

  lose(events: number, reason = this.trouble ?? 'what came before them is not stored yet'): void {
    if (events === 0) return
    this.disturb()
    if (this.lost === 0) this.report().say('error', 'audit events are being lost', { reason })
    this.lost += events
    this.report().count(events)
  }

  /** Where more comes than can be stored, losses come again and again, and are one. */
  stored(): void {
    if (this.lost > 0) this.quiet ??= setTimeout(() => this.recovered(), QUIET).unref()
    else if (this.trouble !== undefined) this.recovered()
  }

  /** Nothing will be stored any more. */
  ended(): void {
    this.disturb()
    if (this.lost > 0) this.report().say('error', 'audit events were lost', { lost: this.lost })
  }

  /** Nobody says later how many they are. */
  loseAfterEnd(): void {
    this.lost++
    this.report().count(1)
    const reason = 'the latest came after the audit had ended'
    this.report().say('error', 'audit events were lost', { lost: this.lost, reason })
  }

  private recovered(): void {
    this.report().say('warn', 'audit events are stored again', { lost: this.lost })
    this.trouble = undefined
    this.lost = 0
    this.disturb()
  }

  private disturb(): void {
    clearTimeout(this.quiet)
    this.quiet = undefined
  }
}
