import type { Trace, TraceContext } from 'sallyport'

/** A valid W3C Trace Context: the parent of a span, or a link of it. */
export interface Context {
  readonly traceId: string
  readonly spanId: string
  /** `SAMPLED` and `RANDOM`, and no other bit. */
  readonly flags: number
  readonly state: string | undefined
}

export const SAMPLED = 1
/** The trace id is random (level 2): a participant that continues the trace keeps the bit. */
export const RANDOM = 2

// Level 2, 3.2. A later version may add fields after a dash; a comma would mean several headers.
const PARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-[\x21-\x2b\x2d-\x7e]*)?$/
const LONGEST_PARENT = 512

/** The valid context in a header or in `_meta`, or undefined. */
export function contextOf(received: Partial<TraceContext> | undefined): Context | undefined {
  const { traceparent, tracestate } = received ?? {}
  if (traceparent === undefined || traceparent.length > LONGEST_PARENT) return undefined
  const [, version = '', traceId = '', spanId = '', flags = '', more] = PARENT.exec(traceparent) ?? []
  if (traceId === '' || (version === '00' && more !== undefined)) return undefined
  return {
    traceId,
    spanId,
    flags: Number.parseInt(flags, 16) & (SAMPLED | RANDOM),
    state: tracestate === undefined ? undefined : stateOf(tracestate),
  }
}

const parentText = ({ traceId, spanId, flags }: Omit<Context, 'state'>): string =>
  `00-${traceId}-${spanId}-0${flags}`

/** The headers for the target. */
export function headersOf(context: Context): Trace['headers'] {
  const parent = ['traceparent', parentText(context)] as const
  return context.state === undefined ? [parent] : [parent, ['tracestate', context.state]]
}

const MAX_MEMBERS = 32
const MAX_LENGTH = 512
const LONG_MEMBER = 128
/** A longer `tracestate` is not read: only a small part of it would be sent on. */
const LONGEST_READ = 8 * 1024

const PRINTABLE = /^[\t\x20-\x7e]*$/
// Level 2, 3.3.1: keys may begin with a digit, and have `@` anywhere.
const MEMBER = /^[a-z\d][a-z\d_\-*/@]{0,255}=[\x20-\x3c\x3e-\x7e]{0,255}[\x21-\x3c\x3e-\x7e]$/

/** A valid `tracestate` as it is sent on, or undefined. */
function stateOf(tracestate: string): string | undefined {
  if (tracestate.length > LONGEST_READ || !PRINTABLE.test(tracestate)) return undefined
  const members = tracestate
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))))
  const isValid = members.length <= MAX_MEMBERS && keys.size === members.length
  if (!isValid || !members.every((member) => MEMBER.test(member))) return undefined
  const state = shortened(members).join(',')
  return state === '' ? undefined : state
}

/** Level 2, 3.3.1.5: a list that is too long loses its long members first, and then those at its end. */
function shortened(members: readonly string[]): readonly string[] {
  if (lengthOf(members) <= MAX_LENGTH) return members
  const kept = members.filter((member) => member.length <= LONG_MEMBER)
  while (lengthOf(kept) > MAX_LENGTH) kept.pop()
  return kept
}

const lengthOf = (members: readonly string[]): number =>
  members.reduce((sum, { length }) => sum + length + 1, -1)
