import type { AuditEvent } from 'sallyport'

/** A line of an audit file, of a tool that was called. */
export function line({ at = new Date().toISOString(), ...event }: Partial<AuditEvent> = {}): string {
  return JSON.stringify({
    at,
    kind: 'called',
    requestId: 'r',
    provider: 'corp',
    subject: 'alice',
    method: 'POST',
    route: '/*',
    status: 200,
    mcp: { method: 'tools/call', kind: 'tool', name: 'search', protocolVersion: '2025-11-25' },
    outcome: 'allowed',
    durationMs: 12.34,
    ...event,
  })
}

export const lines = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, index) => `${line({ requestId: `r${from + index}` })}\n`).join('')

/** The ids of the requests in what was printed, in order: each is the last word of its line. */
export const idsIn = (printed: string): readonly string[] =>
  printed.split('\n').flatMap((text) => (text === '' ? [] : [text.split('  ').at(-1) ?? '']))

export const ids = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `r${from + index}`)
