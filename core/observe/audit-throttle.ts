import type { AuditEvent } from '../contract/capabilities/audit-sink.js'

/** How many events are passed on in one window: of each kind, and of all kinds together. */
const LINES_PER_KIND = 10
const LINES = 100
const WINDOW_MS = 60_000
/** Kinds that are counted separately in a window; all others count as one more. */
const MAX_KINDS = 16
/** How many addresses one window counts separately. */
const MAX_ADDRESSES = 10_000

interface Kind {
  passed: number
  more: number
  readonly addresses: Set<string | undefined>
  latest: AuditEvent
}

/**
 * Limits the events that anyone can cause without credentials, so that a flood of them does not rotate away the events
 * of other callers. For each kind of refusal of callers without an identity it passes on the first few events, and at
 * the end of each minute one event that counts the others and their addresses.
 */
export class AuditThrottle {
  private readonly kinds = new Map<string, Kind>()
  private passed = 0
  private addresses = 0
  private isOver = false
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly pass: (event: AuditEvent) => void) {}

  add(event: AuditEvent): void {
    if (this.isOver || event.kind !== 'refused' || event.subject !== undefined) this.pass(event)
    else this.count(this.kindOf(event), event)
  }

  /** Flushes, and passes all later events on at once. */
  stop(): void {
    this.isOver = true
    this.flush()
  }

  private count(kind: Kind, event: AuditEvent): void {
    if (kind.passed < LINES_PER_KIND && this.passed < LINES) {
      kind.passed++
      this.passed++
      this.pass(event)
      return
    }
    kind.more++
    kind.latest = event
    if (kind.addresses.has(event.address) || this.addresses === MAX_ADDRESSES) return
    kind.addresses.add(event.address)
    this.addresses++
  }

  /** Ends the window: passes on one event for each kind that had more. */
  private flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    const kinds = [...this.kinds.values()]
    this.kinds.clear()
    this.passed = 0
    this.addresses = 0
    for (const { more, addresses, latest } of kinds)
      if (more > 0) this.pass(summaryOf(latest, more, addresses.size))
  }

  private kindOf(latest: AuditEvent): Kind {
    const { status, route, causes = [] } = latest
    const own = `${status} ${causes.join()} ${route}`
    const key = this.kinds.has(own) || this.kinds.size < MAX_KINDS ? own : ''
    const known = this.kinds.get(key)
    if (known !== undefined) return known
    const kind: Kind = { passed: 0, more: 0, addresses: new Set(), latest }
    this.kinds.set(key, kind)
    this.timer ??= setTimeout(() => this.flush(), WINDOW_MS).unref()
    return kind
  }
}

/** The latest event, without the fields of its own request. */
function summaryOf(latest: AuditEvent, more: number, addresses: number): AuditEvent {
  const { address: _, durationMs: _duration, traceId: _trace, ...common } = latest
  return { ...common, more, addresses }
}
