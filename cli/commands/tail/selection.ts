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

/** A filter that matches an event when all flags match. */
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

/** `Date.parse` accepts many forms: here the time must begin as in ISO 8601. */
function startOf(text: string, now: number): number | undefined {
  const span = parseDuration(text)
  if (span !== undefined) return Math.max(0, now - span)
  const time = /^\d{4}-\d{2}-\d{2}(?:[T ]|$)/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

type Line = Buffer | typeof TOO_LONG
export type LineHandler = (line: Line) => void
export type EventHandler = (line: AuditLine) => void

/** Passes on the events that match, and counts the lines without an event. */
export class Selection {
  /** The number of lines that no audit sink has written, such as truncated ones. */
  malformed = 0

  constructor(
    private readonly filter: Filter,
    private readonly onEvent: EventHandler,
  ) {}

  readonly line: LineHandler = (line) => {
    if (typeof line === 'symbol') {
      this.malformed++
      return
    }
    if (line.length === 0) return
    const read = auditLineOf(line)
    if (read === undefined) this.malformed++
    else if (this.filter(read.event)) this.onEvent(read)
  }
}

/** Keeps the last `count` lines. */
export class LastLines {
  private kept: AuditLine[] = []
  full = false

  constructor(private readonly count: number) {
    this.full = count === 0
  }

  readonly add: EventHandler = (line) => {
    this.kept.push(line)
    this.full ||= this.kept.length >= this.count
    // Not at every line: the copy takes time.
    if (this.kept.length > 2 * this.count + 100) this.kept = this.lines()
  }

  lines(): AuditLine[] {
    return this.count === 0 ? [] : this.kept.slice(-this.count)
  }
}

/** A line of an audit file, and its event. */
export interface AuditLine {
  readonly text: string
  readonly event: AuditEvent
}

/** Reads a line; `undefined` for a line that no audit sink has written. */
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

/** Checks that a value is an object with these members; optional members may be missing. */
function objectOf(
  members: Readonly<Record<string, Check>>,
  optionalMembers: Readonly<Record<string, Check>>,
): Check {
  const [all, optional] = [Object.entries(members), Object.entries(optionalMembers)]
  return (value) =>
    isJsonObject(value) &&
    all.every(([name, check]) => check(value[name])) &&
    optional.every(([name, check]) => value[name] === undefined || check(value[name]))
}

/** A kind is any text: newer gateways may write other kinds. */
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
