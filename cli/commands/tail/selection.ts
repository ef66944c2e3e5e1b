import { isUtf8 } from 'node:buffer'
import type { AuditEvent, Problem } from 'sallyport'
import { type Glob, globOf, isJsonObject, matchesGlob, type TOO_LONG } from 'sallyport/toolkit'
import { unknownName } from '#core/contract/problem.js'
import { parseDuration } from '#core/toolkit/duration-text.js'

export type FilterFlags = {
  readonly [name in 'caller' | 'tool' | 'since' | 'request' | 'trace']?: string | undefined
} & { readonly outcome?: readonly string[] | undefined }

export type Filter = (event: AuditEvent) => boolean

const OUTCOMES = ['allowed', 'denied', 'failed']
const EXPECTED_TIME = 'a duration such as 10m or 24h, or a time such as 2026-01-31T09:00:00Z, is expected'

/** What all of the flags let through. */
export function filterOf(
  flags: FilterFlags,
  now: number,
): { readonly filter: Filter } | { readonly problems: readonly Problem[] } {
  const { caller, tool, outcome = [], since, request, trace } = flags
  const problems: Problem[] = outcome
    .filter((name) => !OUTCOMES.includes(name))
    .map((name) => ({ place: '--outcome', ...unknownName('unknown outcome', name, OUTCOMES) }))
  const start = since === undefined ? undefined : startOf(since, now)
  if (since !== undefined && start === undefined) problems.push({ place: '--since', message: EXPECTED_TIME })
  if (problems.length > 0) return { problems }
  const filters: Filter[] = []
  if (start !== undefined) filters.push(({ at }) => Date.parse(at) >= start)
  if (request !== undefined) filters.push(({ requestId }) => requestId === request)
  if (trace !== undefined) filters.push(({ traceId }) => traceId === trace)
  if (outcome.length > 0) filters.push((event) => outcome.includes(event.outcome ?? ''))
  if (tool !== undefined) filters.push(toolIs(globOf(tool)))
  if (caller !== undefined) filters.push(callerIs(globOf(caller)))
  return { filter: (event) => filters.every((matches) => matches(event)) }
}

const toolIs =
  (glob: Glob): Filter =>
  ({ mcp }) =>
    mcp?.kind === 'tool' && mcp.name !== undefined && matchesGlob(glob, mcp.name)

const callerIs =
  (glob: Glob): Filter =>
  ({ provider = '', subject, address }) =>
    (subject !== undefined && (matchesGlob(glob, subject) || matchesGlob(glob, `${provider}/${subject}`))) ||
    (address !== undefined && matchesGlob(glob, address))

/** `Date` takes a lot for a time: here it begins as ISO 8601 has it. */
function startOf(text: string, now: number): number | undefined {
  const span = parseDuration(text)
  if (span !== undefined) return Math.max(0, now - span)
  const time = /^\d{4}-\d{2}-\d{2}(?:[T ]|$)/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

type Line = Buffer | typeof TOO_LONG
export type TakeLine = (line: Line) => void
export type TakeEvent = (line: AuditLine) => void

/** Gives on the events that match, and counts the lines that hold none. */
export class Selection {
  /** Lines that no audit sink has written, such as torn ones. */
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
    if (line.length === 0) return
    const read = auditLineOf(line)
    if (read === undefined) this.malformed++
    else if (this.filter(read.event)) this.take(read)
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
