import type { AuditEvent, AuditedCall } from 'sallyport'

/**
 * An event as one line of JSON in ASCII: these fields and no others, in this order. Written by hand, since this runs
 * for each call: `JSON.stringify` of the whole event takes twice as long.
 */
export function lineOf(event: AuditEvent): string {
  const { mcp } = event
  let line = `{"at":"${event.at}","kind":"${event.kind}"`
  line += text('requestId', event.requestId)
  line += text('traceId', event.traceId)
  line += text('provider', event.provider)
  line += text('subject', event.subject)
  line += json('actors', event.actors)
  line += text('address', event.address)
  line += text('method', event.method)
  line += text('route', event.route)
  line += number('status', event.status)
  if (mcp !== undefined) line += `,"mcp":${subjectOf(mcp)}`
  if (event.outcome !== undefined) line += `,"outcome":"${event.outcome}"`
  line += text('policy', event.policy)
  line += json('causes', event.causes)
  line += number('durationMs', event.durationMs)
  line += number('more', event.more)
  line += number('addresses', event.addresses)
  line += json('server', event.server)
  return `${line}}\n`
}

function subjectOf({ method, kind, name, protocolVersion }: AuditedCall): string {
  const named = `${text('kind', kind)}${text('name', name)}${text('protocolVersion', protocolVersion)}`
  return `{"method":${quoted(method)}${named}}`
}

const number = (name: string, value: number | undefined): string =>
  value === undefined ? '' : `,"${name}":${value}`

const text = (name: string, value: string | undefined): string =>
  value === undefined ? '' : `,"${name}":${quoted(value)}`

const json = (name: string, value: unknown): string =>
  value === undefined ? '' : `,"${name}":${inAscii(JSON.stringify(value, wellFormed))}`

// Most texts need no escapes.
const NOT_PLAIN = /[^\x20\x21\x23-\x5b\x5d-\x7e]/

const quoted = (value: string): string =>
  NOT_PLAIN.test(value) ? inAscii(JSON.stringify(value.toWellFormed())) : `"${value}"`

// Strict readers refuse half of a surrogate pair.
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value

/**
 * Otherwise the name of a tool could make a reader see two lines, or a terminal show the line in another order. And
 * writing one byte for each character takes a quarter of the time.
 */
const inAscii = (written: string): string =>
  written.replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
