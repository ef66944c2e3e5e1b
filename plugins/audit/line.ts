import type { AuditEvent } from 'sallyport'

/** An event as one line of JSON: these fields and no others, in this order. */
export function lineOf(event: AuditEvent): string {
  const { mcp, server } = event
  return `${JSON.stringify({
    at: event.at,
    kind: event.kind,
    requestId: event.requestId,
    traceId: event.traceId,
    provider: event.provider,
    subject: event.subject,
    actors: event.actors,
    address: event.address,
    method: event.method,
    route: event.route,
    status: event.status,
    mcp: mcp && { method: mcp.method, kind: mcp.kind, name: mcp.name, protocolVersion: mcp.protocolVersion },
    outcome: event.outcome,
    policy: event.policy,
    causes: event.causes,
    durationMs: event.durationMs,
    server,
  })}\n`
}

// DEL, the C1 controls, which end lines or move the cursor of a terminal, and the two separators of Unicode.
const UNSAFE = /[\u007f-\u009f\u2028\u2029]|\\ud/
const ESCAPED = /\\\\|\\ud[89a-f][0-9a-f]{2}|[\u007f-\u009f\u2028\u2029]/g

/**
 * The same line for readers that are stricter than JSON. A caller could otherwise name a tool so that its line is two
 * lines to one reader, or an error to another: strict parsers refuse half of a surrogate pair.
 */
export function forAnyReader(line: string): string {
  return UNSAFE.test(line) ? line.replaceAll(ESCAPED, escaped) : line
}

function escaped(found: string): string {
  if (found === '\\\\') return found
  if (found.startsWith('\\')) return String.raw`\ufffd`
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
}
