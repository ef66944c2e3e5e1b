import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import { CLOSE_OBJECT, isSpace, JsonReader, textOf } from './json.js'

const NAMES = ['traceparent', 'tracestate'] as const
type Name = (typeof NAMES)[number]

/** The members of `_meta` that carry a trace; the values are JSON. */
type TraceMembers = Readonly<Partial<Record<Name, string>>>

/** Replaces the bytes between two positions, which may be equal. */
interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

/**
 * The body with the trace of these headers in the `_meta` of each call, instead of the client's; all other bytes stay.
 * Throws for a body that is not JSON.
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

/** The kind of the innermost open object or list. */
type Container = 'batch' | 'message' | 'params' | 'meta' | 'other'

class TraceEdits extends JsonReader {
  private edits: Edit[] = []
  private readonly containers: Container[] = []
  private lastKey = ''
  private readonly starts = { message: 0, params: 0, meta: 0, value: 0 }
  /** The number of edits before the message, and before its `_meta`. */
  private readonly before = { message: 0, meta: 0 }
  private readonly has = { method: false, params: false, meta: false }
  private names = new Set<Name>()

  constructor(
    bytes: Buffer,
    private readonly members: TraceMembers,
  ) {
    super(bytes)
  }

  ofBody(): readonly Edit[] {
    this.read(this.bytes.length)
    return this.edits
  }

  protected onKey(start: number, end: number): void {
    const { container, has } = this
    if (container === 'other') return
    const key = textOf(this.bytes, start, end)
    this.lastKey = key
    if (container === 'message' && key === 'method') has.method = true
    if (container === 'message' && key === 'params') has.params = true
    if (container === 'params' && key === '_meta') has.meta = true
  }

  protected onScalar(start: number, end: number): void {
    this.replace(start, end)
  }

  protected onOpen(isObject: boolean, start: number): void {
    const opened = this.kindOf(isObject)
    if (this.container === 'meta') this.starts.value = start
    if (opened === 'message') {
      this.starts.message = start
      this.before.message = this.edits.length
      Object.assign(this.has, { method: false, params: false })
    } else if (opened === 'params') {
      this.starts.params = start
      this.has.meta = false
    } else if (opened === 'meta') {
      this.starts.meta = start
      this.before.meta = this.edits.length
      this.names = new Set()
    }
    this.containers.push(opened)
  }

  protected onClose(end: number): void {
    const { starts, before, has, edits } = this
    const closed = this.containers.pop()
    if (closed === 'meta') {
      const missing = this.textOf(NAMES.filter((name) => !this.names.has(name)))
      if (missing !== '') edits.splice(before.meta, 0, this.added(starts.meta, missing))
    } else if (closed === 'params' && !has.meta) {
      edits.push(this.added(starts.params, `"_meta":{${this.all}}`))
    } else if (closed === 'message') {
      if (!has.params) edits.push(this.added(starts.message, `"params":{"_meta":{${this.all}}}`))
      if (!has.method) edits.length = before.message
    } else if (closed === 'other') this.replace(starts.value, end)
  }

  protected malformed(): Error {
    return new SyntaxError('the body is not JSON')
  }

  private get container(): Container | undefined {
    return this.containers.at(-1)
  }

  private kindOf(isObject: boolean): Container {
    const { container, lastKey: key } = this
    if (container === undefined) return isObject ? 'message' : 'batch'
    if (!isObject) return 'other'
    if (container === 'batch') return 'message'
    if (container === 'message' && key === 'params') return 'params'
    return container === 'params' && key === '_meta' ? 'meta' : 'other'
  }

  /** Replaces a member each time that it occurs: some JSON parsers take the first, most the last. */
  private replace(from: number, to: number): void {
    if (this.container !== 'meta') return
    const name = NAMES.find((each) => each === this.lastKey)
    if (name === undefined) return
    this.names.add(name)
    // The `tracestate` of another trace would be wrong, and an empty one means the same as none.
    this.edits.push({ from, to, text: this.members[name] ?? '""' })
  }

  /** Inserts `text` as the first member of the object that begins at `start`. */
  private added(start: number, text: string): Edit {
    const from = start + 1
    let next = from
    while (isSpace(this.bytes[next] ?? 0)) next++
    return { from, to: from, text: this.bytes[next] === CLOSE_OBJECT ? text : `${text},` }
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
}
