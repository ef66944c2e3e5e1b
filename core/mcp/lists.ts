import { isUtf8 } from 'node:buffer'
import type { ListedSubject } from '../contract/capabilities/policy.js'
import { folded } from '../toolkit/folded.js'
import { type JsonObject, jsonObject } from '../toolkit/json-object.js'
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isSpace,
  LOWER_CASE,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  startsWithMark,
  stringEnd,
  textOf,
  tokenEnd,
} from './json.js'
import { MCP_LISTS, type McpList } from './methods.js'
import { malformedResponse, noList } from './response.js'

// What the innermost open object or array is.
const ROOT = 0
const OBJECT = 1
const ARRAY = 2
const BATCH = 3
const MESSAGE = 4
const RESULT = 5
const LIST = 6
const ITEM = 7

// What may come next.
const VALUE = 0
const VALUE_OR_END = 1
const KEY = 2
const KEY_OR_END = 3
const AFTER_KEY = 4
const AFTER_VALUE = 5
const NOTHING = 6

// No server comes near them; they bound the memory that a text can take.
const MAX_DEPTH = 10_000
const MAX_LISTS = 10_000

/** Who may be served a result from a cache. */
const CACHE_SCOPE = 'cacheScope'

/**
 * Reads JSON-RPC messages strictly, in parts, and finds the lists in their results. Whatever clients could take for one
 * is one: servers may repeat a member, and some clients ignore the case of its name.
 */
export class ListScanner {
  readonly lists: ListedItems[] = []
  /** Where a result says that any cache may have it, as pairs of positions. */
  readonly publicScopes: number[] = []
  private at: number
  private place = ROOT
  private expected = VALUE
  private readonly outer: number[] = []
  /** What the member is whose value comes next. */
  private member: 'result' | 'name' | 'scope' | McpList | undefined
  private list: ListedItems | undefined
  private itemStart = 0
  private name: string | undefined
  private nameMembers = 0

  constructor(private readonly bytes: Buffer) {
    this.at = startsWithMark(bytes) ? 3 : 0
  }

  /** Reads on for that many bytes, and to the end of the last token; `true` when it has read all. */
  read(count: number): boolean {
    const { bytes } = this
    const limit = Math.min(this.at + count, bytes.length)
    while (this.at < limit) {
      const byte = bytes[this.at] ?? 0
      if (isSpace(byte)) this.at++
      else this.token(byte)
    }
    if (this.at < bytes.length) return false
    if (this.expected !== NOTHING || !isUtf8(bytes)) throw malformedResponse()
    return true
  }

  private token(byte: number): void {
    const { expected } = this
    if (expected === VALUE || expected === VALUE_OR_END) {
      if (byte === CLOSE_LIST && expected === VALUE_OR_END) this.close()
      else this.value(byte)
    } else if (expected === KEY || expected === KEY_OR_END) {
      if (byte === CLOSE_OBJECT && expected === KEY_OR_END) this.close()
      else this.key(byte)
    } else if (expected === AFTER_KEY && byte === COLON) {
      this.expected = VALUE
      this.at++
    } else if (expected === AFTER_VALUE) {
      this.afterValue(byte)
    } else {
      throw malformedResponse()
    }
  }

  private value(byte: number): void {
    const { place, member, bytes, at } = this
    this.member = undefined
    if (place === LIST) {
      this.itemStart = at
      this.name = undefined
      this.nameMembers = 0
    }
    // A client may take what has names all the same, and nothing could be cut out of it.
    if (typeof member === 'object' && byte === OPEN_OBJECT) throw noList()
    if (byte === OPEN_OBJECT) {
      this.open(objectIn(place, member), KEY_OR_END)
    } else if (byte === OPEN_LIST) {
      const isList = typeof member === 'object'
      if (isList) this.list = new ListedItems(member, bytes)
      this.open(isList ? LIST : place === ROOT || place === BATCH ? BATCH : ARRAY, VALUE_OR_END)
    } else {
      const end = tokenEnd(bytes, at)
      if (end < 0) throw malformedResponse()
      if (member === 'name' && byte === QUOTE) this.name = textOf(bytes, at, end)
      else if (member === 'scope' && byte === QUOTE) this.scope(at, end)
      this.at = end
      this.endValue()
    }
  }

  private key(byte: number): void {
    const { bytes, at, place, list } = this
    const end = byte === QUOTE ? stringEnd(bytes, at) : -1
    if (end < 0) throw malformedResponse()
    if (place === MESSAGE) this.member = this.spells('result', end) ? 'result' : undefined
    else if (place === RESULT) this.member = this.memberOfResult(end)
    else if (place === ITEM && list !== undefined && this.spells(list.shape.key, end)) {
      this.nameMembers++
      this.member = textOf(bytes, at, end) === list.shape.key ? 'name' : undefined
    }
    this.at = end
    this.expected = AFTER_KEY
  }

  private memberOfResult(end: number): 'scope' | McpList | undefined {
    return this.spells(CACHE_SCOPE, end) ? 'scope' : MCP_LISTS.find(({ member }) => this.spells(member, end))
  }

  private scope(start: number, end: number): void {
    if (textOf(this.bytes, start, end) !== 'public') return
    if (this.publicScopes.push(start, end) > MAX_LISTS) throw malformedResponse()
  }

  /** Whether a client could take the key up to `end` for this word, as Go's does without regard to case. */
  private spells(word: string, end: number): boolean {
    const { bytes, at } = this
    const length = end - at - 2
    // Of a letter's spellings, the letter is the shortest and an escape of six bytes the longest.
    if (length < word.length || length > word.length * 6) return false
    const first = bytes[at + 1] ?? 0
    const isLetter = first !== BACKSLASH && first < 0x80
    if (isLetter && (first | LOWER_CASE) !== word.charCodeAt(0)) return false
    return folded(textOf(bytes, at, end)) === folded(word)
  }

  private afterValue(byte: number): void {
    const isObject = IN_OBJECT[this.place] === true
    if (byte === COMMA) {
      this.expected = isObject ? KEY : VALUE
      this.at++
    } else if (byte === (isObject ? CLOSE_OBJECT : CLOSE_LIST)) {
      this.close()
    } else {
      throw malformedResponse()
    }
  }

  private open(place: number, expected: number): void {
    if (this.outer.push(this.place) > MAX_DEPTH) throw malformedResponse()
    this.place = place
    this.expected = expected
    this.at++
  }

  private close(): void {
    if (this.place === LIST && this.list?.isEmpty === false && this.lists.push(this.list) > MAX_LISTS) {
      throw malformedResponse()
    }
    this.place = this.outer.pop() ?? ROOT
    this.at++
    this.endValue()
  }

  private endValue(): void {
    if (this.place === LIST)
      this.list?.add(this.itemStart, this.at, this.nameMembers === 1 ? this.name : undefined)
    this.expected = this.place === ROOT ? NOTHING : AFTER_VALUE
  }
}

function objectIn(place: number, member: unknown): number {
  if (place === ROOT || place === BATCH) return MESSAGE
  if (place === LIST) return ITEM
  return member === 'result' ? RESULT : OBJECT
}

const IN_OBJECT: readonly boolean[] = [false, true, false, false, true, true, false, true]

/** Where the items of a list are in its text. An item without a usable name is in no array: it is always cut. */
export class ListedItems {
  readonly subjects: ListedItem[] = []
  private readonly starts: number[] = []
  private readonly ends: number[] = []
  /** Where the item before ends: the comma between them goes with the later one. */
  private readonly separators: number[] = []
  private first = -1
  private last = -1

  constructor(
    readonly shape: McpList,
    private readonly bytes: Buffer,
  ) {}

  get isEmpty(): boolean {
    return this.first < 0
  }

  add(start: number, end: number, name: string | undefined): void {
    if (this.first < 0) {
      this.first = start
      this.last = start
    }
    if (name !== undefined) {
      this.subjects.push(new ListedItem(this.shape.kind, name, this.bytes.subarray(start, end)))
      this.separators.push(this.last)
      this.starts.push(start)
      this.ends.push(end)
    }
    this.last = end
  }

  /** Adds to `cuts`, as pairs of positions, what has to go for only the items shown to be left. */
  cut(shown: readonly boolean[], cuts: number[]): void {
    let kept = this.first
    let any = false
    for (const [index, start] of this.starts.entries()) {
      if (shown[index] !== true) continue
      const from = any ? (this.separators[index] ?? start) : start
      if (from > kept) cuts.push(kept, from)
      kept = this.ends[index] ?? start
      any = true
    }
    if (this.last > kept) cuts.push(kept, this.last)
  }
}

/** What a policy is asked about. */
class ListedItem implements ListedSubject {
  private parsed: JsonObject | undefined

  constructor(
    readonly kind: ListedSubject['kind'],
    readonly name: string,
    private readonly bytes: Buffer,
  ) {}

  get definition(): JsonObject {
    this.parsed ??= jsonObject(this.bytes.toString()) ?? {}
    return this.parsed
  }
}

/** The bytes that no pair in `cuts` covers, with `"private"` in the place of each pair in `scopes`. */
export function edited(bytes: Buffer, cuts: readonly number[], scopes: readonly number[]): Buffer {
  const left = Buffer.allocUnsafe(bytes.length + scopes.length * PRIVATE.length)
  let length = 0
  let from = 0
  let scope = 0
  for (let index = 0; index <= cuts.length; index += 2) {
    const to = cuts[index] ?? bytes.length
    for (let at = scopes[scope]; at !== undefined && at < to; at = scopes[scope]) {
      length += bytes.copy(left, length, from, at)
      length += PRIVATE.copy(left, length)
      from = scopes[scope + 1] ?? at
      scope += 2
    }
    length += bytes.copy(left, length, from, to)
    from = cuts[index + 1] ?? bytes.length
  }
  return left.subarray(0, length)
}

const PRIVATE = Buffer.from('"private"')
