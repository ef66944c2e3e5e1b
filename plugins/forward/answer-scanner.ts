import { type Answer, AnswerParts, type Member } from './answer-parts.js'
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
} from './json-tokens.js'
import { StreamedToken, UNWANTED } from './streamed-token.js'

// What the innermost object or array is, of those that are looked into.
const OUTSIDE = 0
const BATCH = 1
const MESSAGE = 2
const RESULT = 3
const TOOLS = 4
const TOOL = 5
const ERROR = 6

// What may come next.
const VALUE = 0
const KEY = 1
const AFTER_KEY = 2
const AFTER_VALUE = 3
const NOTHING = 4

/** Letters of an id, or of a tool's name. */
const MAX_VALUE = 256

/**
 * Finds the answers in JSON-RPC messages as their bytes pass, in any parts, and holds none of them. It reads what it has to
 * know alone: what is no JSON has no answers, or some that nobody can read.
 */
export class AnswerScanner {
  private place = OUTSIDE
  private expected = VALUE
  private isBatch = false
  /** How many objects and arrays are open within the innermost one that is looked into. */
  private skipped = 0
  private member: Member | undefined
  private parts = new AnswerParts()
  private readonly token = new StreamedToken()

  constructor(private readonly found: (answer: Answer) => void) {}

  scan(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && this.expected !== NOTHING) {
      if (this.token.kind !== 'none') at = this.readToken(chunk, at)
      else if (this.skipped > 0) at = this.skip(chunk, at)
      else at = this.next(chunk, at)
    }
    if (this.token.kind !== 'none') this.token.carry(chunk)
  }

  /** Another text begins. */
  restart(): void {
    this.enter(OUTSIDE, VALUE)
    this.isBatch = false
    this.skipped = 0
    this.token.kind = 'none'
  }

  private next(chunk: Buffer, at: number): number {
    const byte = chunk[at] ?? 0
    const { expected } = this
    if (isSpace(byte)) return at + 1
    if (expected === VALUE) return this.value(byte, at)
    if (expected === AFTER_VALUE) return this.afterValue(byte, at)
    if (expected === AFTER_KEY && byte === COLON) {
      this.expected = VALUE
      return at + 1
    }
    if (expected === KEY && byte === QUOTE) return this.begin('string', at, at)
    if (expected === KEY && byte === CLOSE_OBJECT) return this.close(at)
    return this.giveUp(at)
  }

  private value(byte: number, at: number): number {
    const { place, member } = this
    if (member !== undefined) this.parts.begin(member)
    if (byte === OPEN_OBJECT) return this.openObject(at)
    if (byte === OPEN_LIST) return this.openList(at)
    if (byte === CLOSE_LIST && IN_LIST[place] === true) return this.close(at)
    // The byte order mark at the start, which some clients skip.
    if (place === OUTSIDE) return byte >= 0x80 ? at + 1 : this.giveUp(at)
    if (byte === QUOTE) return this.begin('string', at, HAVE_TEXT.has(member) ? at : UNWANTED)
    return this.begin('scalar', at, member === undefined ? UNWANTED : at)
  }

  private openObject(at: number): number {
    const { place, member } = this
    if (place === OUTSIDE || place === BATCH) {
      this.parts = new AnswerParts()
      this.enter(MESSAGE, KEY)
    } else if (member === 'result') this.enter(RESULT, KEY)
    else if (member === 'error') this.enter(ERROR, KEY)
    else if (place === TOOLS) this.enter(TOOL, KEY)
    else this.skipped = 1
    return at + 1
  }

  private openList(at: number): number {
    if (this.place === OUTSIDE) {
      this.isBatch = true
      this.enter(BATCH, VALUE)
    } else if (this.member === 'tools') this.enter(TOOLS, VALUE)
    else this.skipped = 1
    return at + 1
  }

  private afterValue(byte: number, at: number): number {
    const isList = IN_LIST[this.place] === true
    if (byte === (isList ? CLOSE_LIST : CLOSE_OBJECT)) return this.close(at)
    if (byte !== COMMA) return this.giveUp(at)
    this.expected = isList ? VALUE : KEY
    return at + 1
  }

  private close(at: number): number {
    const { place, isBatch } = this
    if (place === MESSAGE) {
      const { answer } = this.parts
      if (answer !== undefined) this.found(answer)
    }
    const outer = place === MESSAGE && !isBatch ? OUTSIDE : place === ERROR ? MESSAGE : place - 1
    this.enter(outer, outer === OUTSIDE ? NOTHING : AFTER_VALUE)
    return at + 1
  }

  private enter(place: number, expected: number): void {
    this.place = place
    this.expected = expected
    this.member = undefined
  }

  private begin(kind: 'string' | 'scalar', at: number, textFrom: number): number {
    this.token.begin(kind, textFrom)
    return at + 1
  }

  private readToken(chunk: Buffer, from: number): number {
    const { token, member } = this
    const { kind } = token
    const at = token.read(chunk, from)
    if (token.kind !== 'none' || this.skipped > 0) return at
    if (this.expected === KEY) {
      this.member = this.memberIn(chunk)
      this.expected = AFTER_KEY
      return at
    }
    if (kind === 'scalar' && member !== undefined) this.parts.scalar(member, token.text(chunk, MAX_VALUE))
    else if (member !== undefined && HAVE_TEXT.has(member))
      this.parts.string(member, token.text(chunk, MAX_VALUE))
    this.endValue()
    return at
  }

  private memberIn(chunk: Buffer): Member | undefined {
    for (const member of MEMBERS[this.place] ?? []) if (this.token.spells(chunk, member)) return member
    return undefined
  }

  /** Goes to the end of what is not looked into, or to the first string in it. */
  private skip(chunk: Buffer, from: number): number {
    let { skipped } = this
    let at = from
    while (at < chunk.length && skipped > 0) {
      const byte = chunk[at++] ?? 0
      if (byte === QUOTE) {
        this.token.begin('string', UNWANTED)
        break
      }
      // Arrays and objects count alike: their brackets differ in this bit alone.
      const bracket = byte | LOWER_CASE
      if (bracket === OPEN_OBJECT) skipped++
      else if (bracket === CLOSE_OBJECT) skipped--
    }
    this.skipped = skipped
    if (skipped === 0) this.endValue()
    return at
  }

  private endValue(): void {
    this.member = undefined
    this.expected = AFTER_VALUE
  }

  private giveUp(at: number): number {
    this.expected = NOTHING
    return at
  }
}

const IN_LIST: readonly boolean[] = [false, true, false, false, true, false, false]

const MEMBERS: readonly (readonly Member[])[] = [
  [],
  [],
  ['id', 'method', 'result', 'error'],
  ['isError', 'tools'],
  [],
  ['name'],
  ['code'],
]

const HAVE_TEXT: ReadonlySet<Member | undefined> = new Set(['id', 'name'] as const)
