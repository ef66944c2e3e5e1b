import { isOwnCookie } from '../toolkit/own-cookies.js'

/** Names and values in turn, as in `rawHeaders`: order, case and repeats are kept. */
export type FlatHeaders = string[]

// RFC 9110, 7.6.1: these are about one connection. So is `TE`: it is for the gateway, not for the target.
export const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]

// These frame the message: naming them in `Connection` does not remove them.
export const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding'])

/** The target's headers as the client gets them. `omitted` are more names to leave out. */
export function responseHeaders(raw: readonly string[], omitted?: ReadonlySet<string>): FlatHeaders {
  const named = connectionOptions(joinedValues(raw, 'connection'))
  const passed: FlatHeaders = []
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const lower = name.toLowerCase()
    if (NOT_PASSED.has(lower) || omitted?.has(lower) === true) continue
    if (named?.has(lower) === true && !FRAMING.has(lower)) continue
    const value = raw[index + 1] ?? ''
    if (lower === 'set-cookie' && isOwnCookie(value)) continue
    passed.push(name, value)
  }
  return passed
}

const NOT_PASSED = new Set(HOP_BY_HOP)

/** Flat headers as the pairs in which Node wants trailers. */
export function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let index = 0; index < flat.length; index += 2) found.push([flat[index] ?? '', flat[index + 1] ?? ''])
  return found
}

/** The first value of a header among flat ones. */
export function firstValue(raw: readonly string[], wanted: string): string | undefined {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]
    if (name?.length === wanted.length && name.toLowerCase() === wanted) return raw[index + 1]
  }
  return undefined
}

/** All values of a header, joined by commas. */
export function joinedValues(raw: readonly string[], wanted: string): string | undefined {
  let joined: string | undefined
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]
    if (name?.length !== wanted.length || name.toLowerCase() !== wanted) continue
    joined = joined === undefined ? raw[index + 1] : `${joined},${raw[index + 1]}`
  }
  return joined
}

/** Every value of a header among flat ones. */
export function allValues(raw: readonly string[], wanted: string): string[] {
  return raw.filter((_, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === wanted)
}

/** The headers that `Connection` names; `undefined` where it names none. */
export function connectionOptions(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || NO_NAMES.test(connection)) return undefined
  return new Set(connection.split(',').map((token) => token.trim().toLowerCase()))
}

const NO_NAMES = /^(?:keep-alive|close)$/i
