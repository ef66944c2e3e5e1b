import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  LOWER_CASE,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  stringEnd,
  textOf,
  tokenEnd,
} from './json.js'

const NAMES = ['traceparent', 'tracestate'] as const
type Name = (typeof NAMES)[number]

/** What a trace has for the target, in the form in which `_meta` has it. */
type TraceMembers = Readonly<Partial<Record<Name, string>>>

/** In place of the bytes between two positions, which may be the same. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/**
 * The body with the trace of these headers in the `_meta` of each call, in place of what is there; all other bytes stay.
 * It has been parsed: what is no JSON throws.
 */
export function withTrace(body: Buffer, headers: OutgoingHeaders): Buffer {
  const members = membersOf(headers)
  if (members.traceparent === undefined) return body
  const edits = new TraceEdits(body, members).ofBody()
  const parts: Buffer[] = []
  let at = 0
  for (const { from, to, text } of edits) {
    parts.push(body.subarray(at, from), Buffer.from(text))
    at = to
  }
  return edits.length === 0 ? body : Buffer.concat([...parts, body.subarray(at)])
}

function membersOf(headers: OutgoingHeaders): TraceMembers {
  const members: Partial<Record<Name, string>> = {}
  for (const [header, value] of headers) {
    const name = NAMES.find((each) => each === header.toLowerCase())
    if (name !== undefined) members[name] = JSON.stringify(value)
  }
  return members
}

class TraceEdits {
  constructor(
    private readonly bytes: Buffer,
    private readonly members: TraceMembers,
  ) {}

  ofBody(): readonly Edit[] {
    const { bytes } = this
    const start = this.afterSpace(0)
    const edits: Edit[] = []
    if (bytes[start] === OPEN_OBJECT) this.message(start, edits)
    if (bytes[start] !== OPEN_LIST) return edits
    for (let at = this.afterSpace(start + 1); bytes[at] !== CLOSE_LIST; ) {
      const end = this.afterSpace(bytes[at] === OPEN_OBJECT ? this.message(at, edits) : this.valueEnd(at))
      at = bytes[end] === COMMA ? this.afterSpace(end + 1) : end
    }
    return edits
  }

  private message(start: number, edits: Edit[]): number {
    const before = edits.length
    let [hasMethod, hasParams] = [false, false]
    const end = this.object(start, (name, value) => {
      if (name === 'method') hasMethod = true
      if (name !== 'params') return this.valueEnd(value)
      hasParams = true
      return this.bytes[value] === OPEN_OBJECT ? this.params(value, edits) : this.valueEnd(value)
    })
    if (!hasParams) edits.push(this.added(start, `"params":{"_meta":{${this.all}}}`))
    if (!hasMethod) edits.length = before
    return end
  }

  private params(start: number, edits: Edit[]): number {
    let hasMeta = false
    const end = this.object(start, (name, value) => {
      if (name !== '_meta') return this.valueEnd(value)
      hasMeta = true
      return this.bytes[value] === OPEN_OBJECT ? this.meta(value, edits) : this.valueEnd(value)
    })
    if (!hasMeta) edits.push(this.added(start, `"_meta":{${this.all}}`))
    return end
  }

  /** A member that comes twice is set twice: some who read JSON take the first, most the last. */
  private meta(start: number, edits: Edit[]): number {
    const { members } = this
    const before = edits.length
    const names = new Set<Name>()
    const end = this.object(start, (name, from) => {
      const to = this.valueEnd(from)
      const known = NAMES.find((each) => each === name)
      // The state of another trace would be wrong, and an empty one says as much as none.
      if (known !== undefined) {
        names.add(known)
        edits.push({ from, to, text: members[known] ?? '""' })
      }
      return to
    })
    const missing = this.textOf(NAMES.filter((name) => !names.has(name)))
    if (missing !== '') edits.splice(before, 0, this.added(start, missing))
    return end
  }

  /** First in the object that begins there. */
  private added(start: number, text: string): Edit {
    const from = start + 1
    const isEmpty = this.bytes[this.afterSpace(from)] === CLOSE_OBJECT
    return { from, to: from, text: isEmpty ? text : `${text},` }
  }

  private get all(): string {
    return this.textOf(NAMES)
  }

  private textOf(names: readonly Name[]): string {
    const { members } = this
    return names
      .filter((name) => members[name] !== undefined)
      .map((name) => `"${name}":${members[name]}`)
      .join()
  }

  /** Calls back for each member, which answers with the end of its value; returns the end of the object. */
  private object(start: number, visit: (name: string, value: number) => number): number {
    const { bytes } = this
    let at = this.afterSpace(start + 1)
    while (bytes[at] !== CLOSE_OBJECT) {
      const end = checked(bytes[at] === QUOTE ? stringEnd(bytes, at) : -1)
      const colon = this.afterSpace(end)
      at = this.afterSpace(visit(textOf(bytes, at, end), this.afterSpace(colon + 1)))
      if (bytes[at] === COMMA) at = this.afterSpace(at + 1)
    }
    return at + 1
  }

  private valueEnd(start: number): number {
    const { bytes } = this
    let depth = 0
    for (let at = start; ; ) {
      const bracket = (bytes[at] ?? 0) | LOWER_CASE
      if (bracket === OPEN_OBJECT) depth++
      else if (bracket === CLOSE_OBJECT) depth--
      if (bracket === OPEN_OBJECT || bracket === CLOSE_OBJECT) at++
      else at = checked(tokenEnd(bytes, at))
      if (depth === 0) return at
      while (isBetween(bytes[at] ?? 0)) at++
    }
  }

  private afterSpace(start: number): number {
    let at = start
    while (isSpace(this.bytes[at] ?? 0)) at++
    return at
  }
}

const isBetween = (byte: number): boolean => isSpace(byte) || byte === COMMA || byte === COLON

function checked(end: number): number {
  if (end < 0) throw new SyntaxError('the body is not JSON')
  return end
}
