import { Refusal } from '../contract/errors.js'
import { folded } from '../toolkit/folded.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { MCP_METHODS } from './methods.js'

/** The members of a message that determine its call, by the object that they are in. */
export const ENVELOPE = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
export const PARAMS = new Set(['name', 'uri', 'ref', 'notifications', 'arguments', '_meta'])
export const INNER = new Set(['type', 'name', 'uri', 'resourceSubscriptions'])
const LONGEST_NAME = 'resourceSubscriptions'.length

const MAX_DEPTH = 1_000
const MAX_MEMBERS = 10_000
const MAX_CALLS = 100
/** On all levels together: more would take hundreds of megabytes once they are parsed. */
const MAX_OBJECTS = 200_000
const MAX_VALUES = 1_000_000
/** On all levels too: each new name takes up to 3.5 µs to parse, which blocks all other requests. */
const MAX_NAMES = 100_000
export const MAX_SUBJECTS = 1_000

const QUOTE = 34
const COLON = 58
const COMMA = 44
const BACKSLASH = 92
const [ARRAY, END_OF_ARRAY, OBJECT, END_OF_OBJECT] = [91, 93, 123, 125] as const

/**
 * Counts the members of the objects that determine the call of a text: the envelopes, their `params`, and in these
 * `ref` and `notifications`, down to `levels`. A name that occurs twice counts twice, where `JSON.parse` keeps one.
 * Throws for a text that is nested too deep or has too many parts, before it is parsed. For text that is not JSON the
 * count has no meaning.
 */
export function countMembers(text: string, levels = 3): number {
  const outside = text.charCodeAt(0) !== OBJECT && /^\s*\[/.test(text) ? 1 : 0
  let count = 0
  let depth = 0
  let calls = outside
  let subjects = 0
  let opened = 0
  let commas = 0
  let colons = 0
  // The depth of the innermost open object whose members are counted: the objects around it are counted too.
  let counted = outside
  let [keyStart, keyEnd] = [0, 0]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      keyStart = index
      index = endOfString(text, index)
      keyEnd = index + 1
    } else if (code === COLON) {
      if (++colons > MAX_NAMES) throw tooLarge(`has more than ${MAX_NAMES} members on all levels`)
      if (depth === counted && depth > outside && ++count > MAX_MEMBERS)
        throw tooLarge(`has more than ${MAX_MEMBERS} members`)
    } else if (code === COMMA) {
      if (++commas > MAX_VALUES) throw tooLarge(`holds more than ${MAX_VALUES} values`)
      if (depth === 1 && outside === 1 && ++calls > MAX_CALLS)
        throw tooLarge(`is a batch of more than ${MAX_CALLS}`)
      // The items of the lists in `notifications`.
      if (depth === outside + 4 && counted === outside + 3 && ++subjects > MAX_SUBJECTS)
        throw tooLarge(`names more than ${MAX_SUBJECTS} things`)
    } else if (code === OBJECT) {
      const isMember = depth === counted
      checkRoom(++depth, ++opened)
      if (isMember && depth - outside <= levels && isCounted(depth - outside, text, keyStart, keyEnd))
        counted = depth
    } else if (code === ARRAY) {
      checkRoom(++depth, ++opened)
    } else if (code === END_OF_OBJECT || code === END_OF_ARRAY) {
      if (--depth < counted && counted > outside) counted = depth
    }
  }
  return count
}

export function endOfString(text: string, start: number): number {
  // Mostly nothing is escaped, and a search finds the end: a call of 260 bytes takes 0.35 µs instead of 0.54.
  const end = text.indexOf('"', start + 1)
  if (end > 0 && text.charCodeAt(end - 1) !== BACKSLASH) return end
  let index = start + 1
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) break
    if (code === BACKSLASH) index++
  }
  return index
}

function isCounted(level: number, text: string, keyStart: number, keyEnd: number): boolean {
  if (level === 1) return true
  const key = memberName(text.slice(keyStart, keyEnd))
  return level === 2 ? key === 'params' : key === 'ref' || key === 'notifications'
}

export function memberName(quoted: string): unknown {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return undefined
  }
}

/**
 * Whether some server could take a name for a known one: Go's own JSON package folds case, text in C ends at a NUL, and
 * some servers trim.
 */
export function resembles(name: string, known: ReadonlySet<string>): boolean {
  if (known.has(name)) return false
  const [beforeNul = ''] = name.split('\0', 1)
  const text = beforeNul.trim()
  // No letter folds to fewer. A name may have megabytes, and folding it would block other requests.
  return text.length <= LONGEST_NAME && known.has(folded(text))
}

const PROTOTYPE = new RegExp(`"${'__proto__'.split('').map(spelled).join('')}"[ \t\r\n]*:`)

function spelled(letter: string): string {
  const code = letter.charCodeAt(0).toString(16)
  return `(?:${letter}|\\\\u00${code.replace('f', '[fF]')})`
}

/**
 * Whether any object in a text has a member `__proto__`: copies of the object, as many servers make them, inherit from
 * it.
 */
export const hasPrototype = (text: string): boolean => PROTOTYPE.test(text)

/** How many members `countMembers` would count on the same levels if no name occurred twice. */
export function distinctMembers(value: unknown, levels = 3): number {
  const envelopes: readonly unknown[] = Array.isArray(value) ? value : [value]
  let count = 0
  for (const envelope of envelopes) {
    if (!isJsonObject(envelope)) continue
    count += membersOf(envelope, ENVELOPE)
    const { method, params } = envelope
    if (levels === 1 || !isJsonObject(params)) continue
    // Only the server reads the parameters of other methods.
    const namesNothing = (MCP_METHODS.get(String(method)) ?? 'nothing') === 'nothing'
    count += membersOf(params, namesNothing ? NONE : PARAMS)
    const inner = namesNothing ? NONE : INNER
    count += membersOf(params['ref'], inner) + membersOf(params['notifications'], inner)
  }
  return count
}

const NONE: ReadonlySet<string> = new Set<string>([])

function membersOf(value: unknown, known: ReadonlySet<string>): number {
  if (!isJsonObject(value)) return 0
  const names = Object.keys(value)
  for (const name of names) {
    const where = known === ENVELOPE ? 'of the message' : 'in its params'
    // V8 may misread a name with escapes, and its result then holds a backslash: see `parseJson`, which is not used
    // here as it would read megabytes of arguments too.
    if (name.includes('\\')) throw ambiguous(`a member ${where} has a backslash in its name`)
    if (resembles(name, known))
      throw ambiguous(`a member ${where} differs from a known one by case or space alone`)
  }
  return names.length
}

export const ambiguous = (message: string): Refusal => new Refusal(400, 'MESSAGE_AMBIGUOUS', message)

export const tooLarge = (what: string): Refusal =>
  new Refusal(400, 'MESSAGE_TOO_LARGE', `the message ${what}`)

function checkRoom(depth: number, opened: number): void {
  if (depth > MAX_DEPTH) throw tooLarge(`is nested deeper than ${MAX_DEPTH} levels`)
  if (opened > MAX_OBJECTS) throw tooLarge(`holds more than ${MAX_OBJECTS} objects and lists`)
}
