import type { ListedSubject } from '../contract/capabilities/policy.js'
import { folded } from '../toolkit/folded.js'
import { type JsonObject, jsonObject } from '../toolkit/json-object.js'
import { BACKSLASH, JsonReader, LOWER_CASE, QUOTE, textOf } from './json.js'
import { MCP_LISTS, type McpList } from './methods.js'
import { malformedResponse, noList } from './response.js'

// The kinds of the innermost open object or list.
const ROOT = 0
const OTHER = 1
const BATCH = 2
const MESSAGE = 3
const RESULT = 4
const LIST = 5
const ITEM = 6

// No real server comes near it: bounds the memory that a text can take.
const MAX_LISTS = 10_000

/** The member of a result that says whether caches may share it. */
const CACHE_SCOPE = 'cacheScope'

/**
 * Finds the lists in the results of JSON-RPC messages, and all that clients could take for one: servers may repeat a
 * member, and some clients ignore the case of its name.
 */
export class ListScanner extends JsonReader {
  readonly lists: ListedItems[] = []
  /** The values `"public"` of `cacheScope`, as pairs of positions. */
  readonly publicScopes: number[] = []
  private container = ROOT
  private readonly outer: number[] = []
  /** The member whose value comes next. */
  private member: 'result' | 'name' | 'scope' | McpList | undefined
  private list: ListedItems | undefined
  private itemStart = 0
  private name: string | undefined
  private nameMembers = 0

  protected onKey(start: number, end: number): void {
    const { bytes, container, list } = this
    if (container === MESSAGE) this.member = this.spells('result', start, end) ? 'result' : undefined
    else if (container === RESULT) this.member = this.memberOfResult(start, end)
    else if (container === ITEM && list !== undefined && this.spells(list.shape.key, start, end)) {
      this.nameMembers++
      this.member = textOf(bytes, start, end) === list.shape.key ? 'name' : undefined
    }
  }

  protected onScalar(start: number, end: number): void {
    const { member, bytes } = this
    this.member = undefined
    if (this.container === LIST) this.list?.add(start, end, undefined)
    if (bytes[start] !== QUOTE) return
    if (member === 'name') this.name = textOf(bytes, start, end)
    else if (member === 'scope') this.scope(start, end)
  }

  protected onOpen(isObject: boolean, start: number): void {
    const { container, member, bytes } = this
    this.member = undefined
    if (container === LIST) {
      this.itemStart = start
      this.name = undefined
      this.nameMembers = 0
    }
    // A client may accept an object instead of a list, and nothing can be cut out of an object.
    if (typeof member === 'object' && isObject) throw noList()
    if (typeof member === 'object') this.list = new ListedItems(member, bytes)
    this.outer.push(container)
    this.container = isObject ? objectIn(container, member) : listIn(container, member)
  }

  protected onClose(end: number): void {
    if (this.container === LIST && this.list?.isEmpty === false && this.lists.push(this.list) > MAX_LISTS)
      throw malformedResponse()
    this.container = this.outer.pop() ?? ROOT
    if (this.container === LIST)
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

  /** Whether a client could take a key for this word; Go's JSON package ignores case. */
  private spells(word: string, start: number, end: number): boolean {
    const { bytes } = this
    const length = end - start - 2
    // A letter is spelled in one byte at least, and in an escape of six bytes at most.
    if (length < word.length || length > word.length * 6) return false
    const first = bytes[start + 1] ?? 0
    const isLetter = first !== BACKSLASH && first < 0x80
    if (isLetter && (first | LOWER_CASE) !== word.charCodeAt(0)) return false
    return folded(textOf(bytes, start, end)) === folded(word)
  }
}

function objectIn(container: number, member: unknown): number {
  if (container === ROOT || container === BATCH) return MESSAGE
  if (container === LIST) return ITEM
  return member === 'result' ? RESULT : OTHER
}

function listIn(container: number, member: unknown): number {
  if (typeof member === 'object') return LIST
  return container === ROOT || container === BATCH ? BATCH : OTHER
}

/** The positions of a list's items in its text. An item without a usable name is left out here, and always cut. */
export class ListedItems {
  readonly subjects: ListedItem[] = []
  private readonly starts: number[] = []
  private readonly ends: number[] = []
  /** Where the item before each one ends: the comma between two items is cut with the later one. */
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

  /** Adds to `cuts`, as pairs of positions, all bytes of the list that belong to no shown item. */
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

/** An item that policies show or hide. */
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

/** The bytes that no pair in `cuts` covers, with `"private"` instead of the bytes of each pair in `scopes`. */
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
