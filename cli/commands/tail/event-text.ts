import type { AuditEvent, AuditOutcome } from 'sallyport'
import type { Paint } from '../../colour.js'
import { printable, replaceUnsafe } from '../../terminal.js'

/** Characters of a name from outside that are shown: enough to recognize it in one line. */
const MAX_NAME_LENGTH = 200
const COLOURS = { allowed: 'green', denied: 'red', failed: 'yellow' } as const
const SIGNS: Readonly<Record<AuditOutcome, string>> = { allowed: '+', denied: 'x', failed: '!' }

/** An event in one line. Text that callers chose cannot send commands to the terminal. */
export function eventText(event: AuditEvent, paint: Paint): string {
  const { at, outcome, status, durationMs, requestId } = event
  const result = outcome === undefined ? ' '.repeat(9) : `${SIGNS[outcome]} ${outcome.padEnd(7)}`
  const reasons = reasonsOf(event).join(', ')
  return [
    paint('dim', timeText(at)),
    outcome === undefined ? result : paint(COLOURS[outcome], result),
    shown(callerOf(event)).padEnd(20),
    shown(actionOf(event)).padEnd(28),
    String(status ?? '-').padStart(3),
    (durationMs === undefined ? '-' : durationText(durationMs)).padStart(7),
    ...(reasons === '' ? [] : [shown(reasons)]),
    paint('dim', shown(requestId)),
  ].join('  ')
}

/** A name from outside, printable and not too long. */
function shown(text: string): string {
  const harmless = printable(text.length > MAX_NAME_LENGTH ? text.slice(0, MAX_NAME_LENGTH) : text)
  return text.length > MAX_NAME_LENGTH ? `${harmless}...` : harmless
}

/** The time in UTC, as in the file, and in a form that `--since` accepts. */
const timeText = (at: string): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')

function durationText(milliseconds: number): string {
  if (milliseconds < 10) return `${milliseconds.toFixed(1)}ms`
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  return `${(milliseconds / 1000).toFixed(milliseconds < 100_000 ? 1 : 0)}s`
}

/** The caller: its subject, or its address when credentials do not identify callers. */
function callerOf({ provider = '', subject, actors = [], address }: AuditEvent): string {
  const acting = actors.map((actor) => ` by ${actor}`).join('')
  if (subject === undefined) return address ?? '-'
  if (provider === subject && address !== undefined) return `${subject} ${address}`
  return `${provider === '' ? subject : `${provider}/${subject}`}${acting}`
}

/** The action: a call of MCP, a change of a registry, or a request. */
function actionOf({ kind, method, route, mcp, server }: AuditEvent): string {
  if (kind === 'published' && server !== undefined) {
    const { action, name, version } = server
    return `${action} ${name}${version === undefined ? '' : `@${version}`}`
  }
  if (mcp === undefined) return `${method} ${route}`
  return mcp.name === undefined ? mcp.method : `${mcp.method} ${mcp.name}`
}

/** The reasons of a failure: the rule of a policy, which replaces the cause `denied`, and the causes. */
const reasonsOf = ({ policy, causes = [] }: AuditEvent): readonly string[] =>
  policy === undefined ? causes : [policy, ...causes.filter((cause) => cause !== 'denied')]

/** A line as it is; for a terminal, unsafe characters become JSON escapes with the same meaning. */
export function jsonText(line: string, forTerminal: boolean): string {
  if (!forTerminal) return line
  return replaceUnsafe(line, (character) => {
    // White space between two tokens: inside a text JSON has these escaped already.
    if (character < ' ') return ' '
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
