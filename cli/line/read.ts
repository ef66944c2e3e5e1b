import { parseSize } from '#core/toolkit/byte-size-text.js'
import { parseDuration } from '#core/toolkit/duration-text.js'
import { parseHostPort, parsePort } from '#core/toolkit/host-port.js'
import { isJsonObject } from '#core/toolkit/json-object.js'
import type { Option, OptionType, OptionValue, Pair } from './option.js'
import { accumulates, placeholderOf } from './option.js'

/** Returns undefined for a text that `expectation` does not describe. */
type Reader = (text: string, option: Option) => OptionValue | undefined

const single: Readonly<Record<Exclude<OptionType, 'list' | 'repeatable' | 'pair'>, Reader>> = {
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  string: (text) => text,
  int: (text, { min = 0 }) => parseInteger(text, min),
  count: (text, { min = 0, max }) => (text === 'auto' ? text : parseInteger(text, min, max)),
  port: parsePort,
  url: (text) => (isPlainWebUrl(text) ? text : undefined),
  duration: parseDuration,
  size: parseSize,
  address: parseHostPort,
  choice: (text, { choices = [] }) => (choices.includes(text) ? text : undefined),
}

/** The value of an option from all its texts; undefined when one of them is wrong. */
export function readOption(option: Option, texts: readonly string[]): OptionValue | undefined {
  if (option.type === 'list') return allOrNone(texts.map(readList))?.flat()
  if (option.type === 'pair') return allOrNone(texts.map(readPair))
  const emptyRefused = option.emptyAllowed !== true && texts.includes('')
  if (emptyRefused) return undefined
  if (option.type === 'repeatable') return texts
  const reader = single[option.type]
  const [text] = texts
  return text === undefined ? undefined : reader(text, option)
}

/** The value of an option from a value in a file. A text is read like a flag's text, since a reference gives a text. */
export function readValue(option: Option, value: unknown): OptionValue | undefined {
  const { type } = option
  if (typeof value === 'string') return readOption(option, [value])
  if (typeof value === 'boolean' || typeof value === 'number')
    return type === 'boolean' || numeric.has(type) ? readOption(option, [String(value)]) : undefined
  if (Array.isArray(value)) {
    if (type === 'list')
      return value.every((item) => typeof item === 'string' && item !== '') ? value : undefined
    return accumulates(option) && value.every((item) => typeof item === 'string')
      ? readOption(option, value)
      : undefined
  }
  if (type !== 'pair' || !isJsonObject(value)) return undefined
  const pairs = Object.entries(value)
  if (!pairs.every(([, text]) => typeof text === 'string')) return undefined
  return readOption(
    option,
    pairs.map(([name, text]) => `${name}=${text}`),
  )
}

const numeric: ReadonlySet<OptionType> = new Set(['int', 'count', 'port', 'size'])

/** The subject of the sentence "... is expected" for an option. */
export function expectation(option: Option): string {
  const { choices = [], min = 0, max } = option
  const wanted: Readonly<Record<OptionType, string>> = {
    boolean: 'true or false',
    string: placeholderOf(option) === 'FILE' ? 'a file' : 'a value that is not empty',
    int: `a whole number of at least ${min}`,
    count: `a whole number from ${min} to ${max}, or auto`,
    port: 'a port from 0 to 65535',
    url: 'an absolute http or https URL without user and fragment',
    duration: 'a duration such as 30s, 1m or 2m30s',
    size: 'a number of bytes such as 1024, 64KiB or 16MiB',
    address: 'HOST:PORT or [IPV6]:PORT',
    list: 'a list with commas between its items',
    repeatable: 'a value that is not empty',
    pair: 'Name=Value',
    choice: choices.join(' or '),
  }
  return wanted[option.type]
}

/**
 * Splits a variable into the texts that repeated flags would give. Only a newline separates pairs and repeatables,
 * since their values may hold any other character.
 */
export function textsOfVariable(option: Option, variable: string): readonly string[] {
  if (!accumulates(option) || option.type === 'list') return [variable]
  return variable.split(/\r?\n/).filter((line) => line !== '')
}

function parseInteger(text: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
  if (!/^\d+$/.test(text)) return undefined
  const value = Number(text)
  return value >= min && value <= max ? value : undefined
}

// The text is kept as it was written, since issuers are compared byte for byte. A text that `URL` would silently
// repair (spaces, backslashes, a missing slash) is refused.
function isPlainWebUrl(text: string): boolean {
  if (!/^https?:\/\/[^/\s\\#]+[^\s\\#]*$/i.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

function readList(text: string): readonly string[] | undefined {
  if (text.trim() === '') return []
  const items = text.split(',').map((item) => item.trim())
  return items.includes('') ? undefined : items
}

function readPair(text: string): Pair | undefined {
  const equals = text.indexOf('=')
  return equals < 1 ? undefined : { name: text.slice(0, equals), value: text.slice(equals + 1) }
}

function allOrNone<T>(items: readonly (T | undefined)[]): readonly T[] | undefined {
  const read = items.filter((item) => item !== undefined)
  return read.length === items.length ? read : undefined
}
