import { isUtf8 } from 'node:buffer'
import type { AuditEvent } from 'sallyport'
import { isJsonObject, type TOO_LONG } from 'sallyport/toolkit'
import type { Filter } from './filter.js'

type Line = Buffer | typeof TOO_LONG
export type TakeLine = (line: Line) => void
export type TakeEvent = (line: AuditLine) => void

/** Gives on the events that match, and counts the lines that hold none. */
export class Selection {
  /** Lines that no audit sink has written, such as torn ones; of those that could match. */
  malformed = 0

  constructor(
    private readonly filter: Filter,
    private readonly take: TakeEvent,
  ) {}

  readonly line: TakeLine = (line) => {
    if (typeof line === 'symbol') {
      this.malformed++
      return
    }
    if (line.length === 0 || !this.filter.canMatch(line)) return
    const read = auditLineOf(line)
    if (read === undefined) this.malformed++
    else if (this.filter.matches(read.event)) this.take(read)
  }
}

/** The last so many of what was added. */
export class LastLines {
  private kept: AuditLine[] = []
  full = false

  constructor(private readonly count: number) {
    this.full = count === 0
  }

  readonly add: TakeEvent = (line) => {
    this.kept.push(line)
    this.full ||= this.kept.length >= this.count
    // Not at every line: it moves all that is kept.
    if (this.kept.length > 2 * this.count + 100) this.kept = this.lines()
  }

  lines(): AuditLine[] {
    return this.count === 0 ? [] : this.kept.slice(-this.count)
  }
}

/** A line of an audit file, and what it says. */
export interface AuditLine {
  readonly text: string
  readonly event: AuditEvent
}

/** Reads a line; `undefined` for what no audit sink has written. */
export function auditLineOf(line: Buffer): AuditLine | undefined {
  if (!isUtf8(line)) return undefined
  const text = line.toString('utf8')
  try {
    const event: unknown = JSON.parse(text)
    return isAuditEvent(event) ? { text, event } : undefined
  } catch {
    return undefined
  }
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isTime: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const isOutcome: Check = (value) => value === 'allowed' || value === 'denied' || value === 'failed'
const isList: Check = (value) => Array.isArray(value) && value.every(isText)

/** Whether a value is an object with these members; those of the second kind may be missing. */
function objectOf(members: Readonly<Record<string, Check>>, further: Readonly<Record<string, Check>>): Check {
  const [all, optional] = [Object.entries(members), Object.entries(further)]
  return (value) =>
    isJsonObject(value) &&
    all.every(([name, check]) => check(value[name])) &&
    optional.every(([name, check]) => value[name] === undefined || check(value[name]))
}

/** A kind is any text: newer gateways may write further ones. */
const isEvent = objectOf(
  { at: isTime, kind: isText, requestId: isText, method: isText, route: isText },
  {
    ...{ provider: isText, subject: isText, actors: isList, address: isText, traceId: isText },
    ...{ outcome: isOutcome, policy: isText, causes: isList },
    ...{ status: Number.isFinite, durationMs: Number.isFinite },
    mcp: objectOf({ method: isText }, { kind: isText, name: isText }),
    server: objectOf({ name: isText, action: isText }, { version: isText }),
  },
)
const isAuditEvent = (value: unknown): value is AuditEvent => isEvent(value)
