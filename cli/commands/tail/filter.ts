import type { AuditEvent, Problem } from 'sallyport'
import { type Glob, globOf, matchesGlob } from 'sallyport/toolkit'
import { unknownName } from '#core/contract/problem.js'
import { parseDuration } from '#core/toolkit/duration-text.js'

export type FilterFlags = {
  readonly [name in 'caller' | 'tool' | 'since' | 'request' | 'trace']?: string | undefined
} & { readonly outcome?: readonly string[] | undefined }

export interface Filter {
  readonly matches: (event: AuditEvent) => boolean
  /** Whether the line of an event could match. Reading every line as JSON takes four times as long. */
  readonly canMatch: (line: Buffer) => boolean
}

const BACKSLASH = 0x5c
/** Every audit line begins with its time, in UTC: such texts compare as the times do. */
const PLAIN_TIME = /^\{"at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/

const OUTCOMES = ['allowed', 'denied', 'failed']
const EXPECTED_TIME = 'a duration such as 10m or 24h, or a time such as 2026-01-31T09:00:00Z, is expected'

/** What all of the flags let through. */
export function filterOf(
  flags: FilterFlags,
  now: number,
): { readonly filter: Filter } | { readonly problems: readonly Problem[] } {
  const { outcome = [], since } = flags
  const problems: Problem[] = outcome
    .filter((name) => !OUTCOMES.includes(name))
    .map((name) => ({ place: '--outcome', ...unknownName('unknown outcome', name, OUTCOMES) }))
  const start = since === undefined ? undefined : startOf(since, now)
  if (since !== undefined && start === undefined) problems.push({ place: '--since', message: EXPECTED_TIME })
  if (problems.length > 0) return { problems }
  const filters = filtersOf(flags, start)
  return {
    filter: {
      matches: (event) => filters.every(({ matches }) => matches(event)),
      canMatch: (line) => filters.every(({ canMatch }) => canMatch(line)),
    },
  }
}

function filtersOf(flags: FilterFlags, start: number | undefined): readonly Filter[] {
  const { caller, tool, outcome = [], request, trace } = flags
  return [
    given(start, (time) => ({ matches: ({ at }) => Date.parse(at) >= time, canMatch: isSince(time) })),
    given(request, (id) => ({ matches: ({ requestId }) => requestId === id, canMatch: holds([id]) })),
    given(trace, (id) => ({ matches: ({ traceId }) => traceId === id, canMatch: holds([id]) })),
    given(outcome[0], (first) => ({
      matches: (event) => outcome.includes(event.outcome ?? ''),
      canMatch: holds(outcome.length === 1 ? [`"${first}"`] : []),
    })),
    given(tool, (pattern) => ({ matches: toolIs(globOf(pattern)), canMatch: holds(pattern.split('*')) })),
    // A caller's parts stand in two members.
    given(caller, (pattern) => ({
      matches: callerIs(globOf(pattern)),
      canMatch: holds(pattern.split(/[*/]/)),
    })),
  ].flat()
}

const given = <T>(value: T | undefined, make: (value: T) => Filter): readonly Filter[] =>
  value === undefined ? [] : [make(value)]

/** A line with a backslash may hold any text: JSON has codes for characters. */
function holds(texts: readonly string[]): Filter['canMatch'] {
  const needles = texts.filter((text) => text !== '').map((text) => Buffer.from(text))
  return (line) => needles.every((needle) => line.includes(needle)) || line.includes(BACKSLASH)
}

function isSince(time: number): Filter['canMatch'] {
  const start = new Date(time).toISOString()
  return (line) => (PLAIN_TIME.exec(line.toString('latin1', 0, 40))?.[1] ?? start) >= start
}

const toolIs =
  (glob: Glob): Filter['matches'] =>
  ({ mcp }) =>
    mcp?.kind === 'tool' && mcp.name !== undefined && matchesGlob(glob, mcp.name)

const callerIs =
  (glob: Glob): Filter['matches'] =>
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
