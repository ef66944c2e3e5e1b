// Servers look up a URI as it came, decoded, or as their URL library writes it: a rule has to hold for all these forms.

/** In characters; browsers and servers accept little more. */
export const LONGEST_URI = 2_048
const DECODINGS = 5

export type Cut = (text: string) => string

/** A URI as it is, without its fragment, and without its query: a server may leave out either. */
export const CUTS: readonly Cut[] = [
  (text) => text,
  (text) => text.replace(/#.*$/s, ''),
  (text) => text.replace(/[?#].*$/s, ''),
]

export const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text)

/** Every text by which a server could look up a URI; `undefined` for a URI that no rule can judge. */
export function spellingsOf(uri: string): ReadonlySet<string> | undefined {
  if (uri.length > LONGEST_URI || !uri.isWellFormed()) return undefined
  const spellings = new Set([uri])
  let decoded = uri
  for (let round = 0; ; round++) {
    const next = percentDecoded(decoded)
    if (next === decoded) break
    if (round === DECODINGS) return undefined
    decoded = next
    spellings.add(decoded)
  }
  if (hasControlCharacter(decoded)) return undefined
  for (const text of [uri, decoded, decoded.replaceAll('\\', '/')]) {
    spellings.add(text)
    if (URL.canParse(text)) spellings.add(new URL(text).href)
  }
  return spellings
}

const AUTHORITY = /^(\s*[a-z][a-z\d+.-]*:[/\\]{2})([^/?#]+)/i

/**
 * The URI with its plain host: user, password and a dot at the end name no other host. Servers that read files look at
 * the path alone, so a `file:` URI gets no host.
 */
export function withHost(text: string): string {
  if (FILE_WITH_HOST.test(text)) return text.replace(FILE_WITH_HOST, 'file://')
  return text.replace(AUTHORITY, (_whole, scheme: string, authority: string) => {
    const host = authority.slice(authority.lastIndexOf('@') + 1)
    return scheme + host.replace(/\.(?=:\d*$|$)/, '')
  })
}

const FILE_WITH_HOST = /^\s*file:[/\\]{2}[^/\\?#]+/i

const PERCENT = 0x25
const HEX = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? -1 : digit
})

const hexDigit = (byte: number | undefined): number => (byte === undefined ? -1 : (HEX[byte] ?? -1))

/**
 * Bytes that are not UTF-8 become U+FFFD, as in most servers, and the rest is still decoded. By hand: 2,048 characters
 * take 10 microseconds, and ten times that with a regular expression.
 */
function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  const bytes = Buffer.from(text)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const value = byte === PERCENT ? (hexDigit(bytes[at + 1]) << 4) | hexDigit(bytes[at + 2]) : -1
    if (value >= 0) at += 2
    bytes[length++] = value < 0 ? byte : value
  }
  return length === bytes.length ? text : bytes.toString('utf8', 0, length)
}

/**
 * A spelling in the form that servers may resolve it to: decoded, without space at the ends, with scheme and host in
 * lower case, without repeated slashes and dot segments.
 */
export function resolved(spelling: string, lowerCase = true): string {
  const text = unified(spelling, lowerCase)
  const [scheme = ''] = /^[a-z][a-z\d+.-]*:/i.exec(text) ?? []
  return scheme + withPlainPath(text.slice(scheme.length))
}

/** The same, but with `//` before the host, for expressions that compare beginnings. */
export function resolvedPath(spelling: string): string {
  const text = unified(spelling, true)
  const [begin = ''] = /^[a-z][a-z\d+.-]*:(?:\/\/[^/?#]*)?/i.exec(text) ?? []
  return begin + withPlainPath(text.slice(begin.length))
}

function unified(spelling: string, lowerCase: boolean): string {
  let text = spelling
  for (let round = 0; round <= DECODINGS; round++) {
    const next = percentDecoded(text)
    if (next === text) break
    text = next
  }
  text = text.trim().replaceAll('\\', '/')
  const [authority = ''] = /^[a-z][a-z\d+.-]*(?::\/\/[^/?#]*)?/i.exec(text) ?? []
  return lowerCase ? authority.toLowerCase() + text.slice(authority.length) : text
}

function withPlainPath(written: string): string {
  const path = written.replaceAll(/\/{2,}/g, '/')
  if (!path.includes('.')) return path
  const root = path.startsWith('/') ? '/' : ''
  const segments: string[] = []
  for (const segment of path.slice(root.length).split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
  }
  return root + segments.join('/')
}
