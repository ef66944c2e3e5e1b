import type { ListedSubject } from '../contract/capabilities/policy.js'
import { folded } from '../toolkit/folded.js'
import { type JsonObject, jsonObject } from '../toolkit/json-object.js'
import { BACKSLASH, JsonReader, LOWER_CASE, QUOTE, textOf } from './json.js'
import { MCP_LISTS, type McpList } from './methods.js'
import { malformedResponse, noList } from './response.js'

// What the innermost open object or list is.
const ROOT = 0
const OTHER = 1
const BATCH = 2
const MESSAGE = 3
const RESULT = 4
const LIST = 5
const ITEM = 6

// No server comes near it; it bounds the memory that a text can take.
const MAX_LISTS = 10_000

/** Who may be served a result from a cache. */
const CACHE_SCOPE = 'cacheScope'

/**
 * Finds the lists in the results of JSON-RPC messages. Whatever clients could take for one is one: servers may repeat a
 * member, and some clients ignore the case of its name.
 */
export class ListScanner extends JsonReader {
  readonly lists: ListedItems[] = []
  /** Where a result says that any cache may have it, as pairs of positions. */
  readonly publicScopes: number[] = []
  private place = ROOT
  private readonly outer: number[] = []
  /** What the member is whose value comes next. */
  private member: 'result' | 'name' | 'scope' | McpList | undefined
  private list: ListedItems | undefined
  private itemStart = 0
  private name: string | undefined
  private nameMembers = 0

  protected onKey(start: number, end: number): void {
    const { bytes, place, list } = this
    if (place === MESSAGE) this.member = this.spells('result', start, end) ? 'result' : undefined
    else if (place === RESULT) this.member = this.memberOfResult(start, end)
    else if (place === ITEM && list !== undefined && this.spells(list.shape.key, start, end)) {
      this.nameMembers++
      this.member = textOf(bytes, start, end) === list.shape.key ? 'name' : undefined
    }
  }

  protected onScalar(start: number, end: number): void {
    const { member, bytes } = this
    this.member = undefined
    if (this.place === LIST) this.list?.add(start, end, undefined)
    if (bytes[start] !== QUOTE) return
    if (member === 'name') this.name = textOf(bytes, start, end)
    else if (member === 'scope') this.scope(start, end)
  }

  protected onOpen(isObject: boolean, start: number): void {
    const { place, member, bytes } = this
    this.member = undefined
    if (place === LIST) {
      this.itemStart = start
      this.name = undefined
      this.nameMembers = 0
    }
    // A client may take what has names all the same, and nothing could be cut out of it.
    if (typeof member === 'object' && isObject) throw noList()
    if (typeof member === 'object') this.list = new ListedItems(member, bytes)
    this.outer.push(place)
    this.place = isObject ? objectIn(place, member) : listIn(place, member)
  }

  protected onClose(end: number): void {
    if (this.place === LIST && this.list?.isEmpty === false && this.lists.push(this.list) > MAX_LISTS)
      throw malformedResponse()
    this.place = this.outer.pop() ?? ROOT
    if (this.place === LIST)
      this.list?.add(this.itemStart, end, this.nameMembers === 1 ? this.name : undefined)
  }

  protected malformed(): Error {
    return malformedResponse()
  }

  private memberOfResult(start: number, end: number): 'scope' | McpList | undefined {
    if (this.spells(CACHE_SCOPE, start, end)) return 'scope'
    return MCP_LISTS.find(({ member }) => this.spells(member, start, end))
  }

  private scope(start: number, end: number): void {
    if (textOf(this.bytes, start, end) !== 'public') return
    if (this.publicScopes.push(start, end) > MAX_LISTS) throw malformedResponse()
  }

  /** Whether a client could take a key for this word, as Go's does without regard to case. */
  private spells(word: string, start: number, end: number): boolean {
    const { bytes } = this
    const length = end - start - 2
    // Of a letter's spellings, the letter is the shortest and an escape of six bytes the longest.
    if (length < word.length || length > word.length * 6) return false
    const first = bytes[start + 1] ?? 0
    const isLetter = first !== BACKSLASH && first < 0x80
    if (isLetter && (first | LOWER_CASE) !== word.charCodeAt(0)) return false
    return folded(textOf(bytes, start, end)) === folded(word)
  }
}

function objectIn(place: number, member: unknown): number {
  if (place === ROOT || place === BATCH) return MESSAGE
  if (place === LIST) return ITEM
  return member === 'result' ? RESULT : OTHER
}

function listIn(place: number, member: unknown): number {
  if (typeof member === 'object') return LIST
  return place === ROOT || place === BATCH ? BATCH : OTHER
}

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
