import { parseDuration } from 'sallyport/duration'
import { parseAddress, parsePort } from './address.js'
import type { Option, OptionType, OptionValue, Pair } from './option.js'
import { accumulates } from './option.js'
import { parseSize } from './size.js'

/** What reading came to. `undefined` says that the text is not what `expectation` asks for. */
type Reader = (text: string, option: Option) => OptionValue | undefined

const single: Readonly<Record<Exclude<OptionType, 'list' | 'repeatable' | 'pair'>, Reader>> = {
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  string: (text) => text,
  int: (text, { min = 0 }) => parseInteger(text, min),
  count: (text, { min = 0, max }) => (text === 'auto' ? text : parseInteger(text, min, max)),
  port: parsePort,
  url: (text) => (isWebUrl(text) ? text : undefined),
  duration: parseDuration,
  size: parseSize,
  address: parseAddress,
  choice: (text, { choices = [] }) => (choices.includes(text) ? text : undefined),
}

/** Reads all that was given for one option, or answers `undefined` when a part of it is not what is expected. */
export function readOption(option: Option, texts: readonly string[]): OptionValue | undefined {
  if (option.type === 'list') return together(texts.map(readList))?.flat()
  if (option.type === 'pair') return together(texts.map(readPair))
  const emptyRefused = option.emptyAllowed !== true && texts.includes('')
  if (emptyRefused) return undefined
  if (option.type === 'repeatable') return texts
  const reader = single[option.type]
  const [text] = texts
  return text === undefined ? undefined : reader(text, option)
}

/** What an option wants, as it ends the sentence "... is expected". */
export function expectation(option: Option): string {
  const { choices = [], min = 0, max, placeholder } = option
  const wanted: Readonly<Record<OptionType, string>> = {
    boolean: 'true or false',
    string: placeholder === 'FILE' ? 'a file' : 'a value that is not empty',
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
 * One variable as the texts that flags would have given. Only a newline separates pairs and repeatables,
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

// The text is kept as it was written: issuers are compared byte for byte. So what `URL` would quietly
// repair (spaces, backslashes, a missing slash) is refused here.
function isWebUrl(text: string): boolean {
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

function together<T>(items: readonly (T | undefined)[]): readonly T[] | undefined {
  const read = items.filter((item) => item !== undefined)
  return read.length === items.length ? read : undefined
}
