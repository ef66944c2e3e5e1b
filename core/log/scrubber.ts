import type { Scrubber } from '../contract/scrubber.js'

/** Names of headers, fields and form values that hold a secret. */
const secretFields = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'api_key',
  'password',
  'access_token',
  'refresh_token',
  'id_token',
  'subject_token',
  'actor_token',
  'registration_access_token',
  'client_secret',
  'client_assertion',
  'assertion',
  'code_verifier',
  'device_code',
]

// Also everyday words: as secrets they count only in the syntax of a form or a query.
const formFields = [...secretFields, 'code', 'state', 'token']

const secretKeys = new Set([...secretFields, ...secretFields.map((name) => name.replaceAll('_', ''))])

const anyOf = (names: readonly string[]) => names.join('|')

/** Patterns and replacements. Every pattern is linear in the text: attackers control much of the logged text. */
const patterns: readonly (readonly [RegExp, string])[] = [
  // `no bearer token` is prose, and `Bearer realm=` is a challenge.
  [
    /\b(Bearer|Basic|DPoP)(?:[ \t]+|%20|\+)(?!(?:tokens?|auth(?:entication|orization)?|credentials?|schemes?|challenges?)(?![\w.~+/=-])|(?:realm|error|scope|resource_metadata)=")["']?[^\s"';]+/gi,
    '$1 ***',
  ],
  [/(:\/\/)[^\s/?#"<>]*@/g, '$1***@'],
  [/(?<=[\w/.\]~%*-])\?(?=\S)\S+/g, '?***'],
  [new RegExp(`\\b(${anyOf(formFields)})(=|%3D)(?:"[^"]*"?|[^\\s&"]+)`, 'gi'), '$1$2***'],
  [
    new RegExp(
      `(["'](?:${anyOf(formFields)})\\\\*["']\\s*[:,]\\s*)(?:\\\\*"(?:[^"\\\\]|\\\\.)*"?|'[^']*'?|[^\\s,}\\]]+)`,
      'gi',
    ),
    '$1"***"',
  ],
  [/\b((?:set-)?cookie|(?:proxy-)?authorization|x-api-key)(\s*:\s*)(?!\*\*\*)[^\s"'][^\r\n]*/gi, '$1$2***'],
]

// For most texts this one test shows that no pattern can match.
const suspicious =
  /bearer|basic|dpop|eyJ|:\/\/|\?\S|=|%3D|token|secret|cookie|authorization|api[-_]?key|password|code|state|assertion|verifier/i

// A line without escapes holds its texts and names unchanged, and in ASCII no other letter has the lower case of one
// of these, as the sign of Kelvin has `k`.
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*\n?$/

// Replacing a shorter secret would destroy every line.
const MIN_LENGTH = 4

/**
 * Replaces secrets in log lines: credentials by their shape, URL queries, and every value that was added. Each boot
 * has its own; code that opens a secret adds the secret.
 */
export class LogScrubber implements Scrubber {
  // Private (#), so that no inspection of this object shows the secrets.
  readonly #known = new Map<string, number>()
  #patterns: readonly SecretPattern[] = []

  /**
   * From now on no line has `value`, in any encoding that it may have in a line. The returned function undoes this.
   */
  add(value: string): () => void {
    if (value.length < MIN_LENGTH) return () => {}
    this.count(value, 1)
    let added = true
    return () => {
      if (added) this.count(value, -1)
      added = false
    }
  }

  /** Whether this is, as a whole, a secret that was added. */
  knows(value: string): boolean {
    return this.#known.has(value)
  }

  /** A text without its secrets. */
  text(text: string): string {
    const unknown = this.#patterns.reduce(scrub, text)
    if (!suspicious.test(unknown)) return unknown
    const plain = unknown.includes('eyJ') ? unknown.replace(/[\w.-]+/g, withoutToken) : unknown
    return patterns.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), plain)
  }

  /** A line of JSON, or any other line, without its secrets. */
  line(line: string): string {
    if (this.holdsNone(line)) return line
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return this.text(line)
    }
    return `${JSON.stringify(this.value(value))}\n`
  }

  /** True for most lines: parsing a line would cost more than all other work on it. */
  private holdsNone(line: string): boolean {
    if (!PLAIN.test(line) || suspicious.test(line)) return false
    return this.#patterns.every(({ pattern }) => line.search(pattern) < 0)
  }

  private value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#known.has(String(value)) ? '***' : value
    if (Array.isArray(value))
      return value.map((item, index) => (namesSecret(value[index - 1]) ? '***' : this.value(item)))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        this.text(key),
        namesSecret(key) ? '***' : this.value(item),
      ]),
    )
  }

  private count(value: string, change: number): void {
    const count = (this.#known.get(value) ?? 0) + change
    if (count > 0) this.#known.set(value, count)
    else this.#known.delete(value)
    this.#patterns = patternsFor([...this.#known.keys()])
  }
}

// JOSE tokens begin with `{"`, which is `eyJ` in base64url. Uses an index: a pattern that looks for the dot from each
// of many `eyJ` would take quadratic time.
function withoutToken(word: string): string {
  const start = word.indexOf('eyJ')
  return start >= 0 && word.indexOf('.', start) >= 0 ? `${word.slice(0, start)}***` : word
}

function namesSecret(name: unknown): boolean {
  return typeof name === 'string' && secretKeys.has(name.toLowerCase())
}

/** A pattern of some of the encoded secrets, and the length of the shortest of them. */
interface SecretPattern {
  readonly pattern: RegExp
  readonly shortest: number
}

const scrub = (text: string, { pattern, shortest }: SecretPattern): string =>
  text.length < shortest ? text : text.replace(pattern, '***')

/** A text without these secrets, in any encoding, and otherwise unchanged. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  patternsFor(secrets.filter(({ length }) => length >= MIN_LENGTH)).reduce(scrub, text)

// V8 refuses a pattern of some 50,000 characters only at its first use, with an error that quotes all of it.
const MAX_PATTERN = 16_384
const MAX_PIECE = 4_096

function patternsFor(values: readonly string[]): readonly SecretPattern[] {
  const groups: { source: string; shortest: number }[] = []
  // The longest first: of two that begin alike, an alternation matches the first.
  const pieces = [...new Set(values.flatMap(encodingsOf).flatMap(piecesOf))].sort(
    (a, b) => b.length - a.length,
  )
  for (const piece of pieces) {
    const source = escapeRegExp(piece)
    const last = groups.at(-1)
    if (last === undefined || last.source.length + source.length >= MAX_PATTERN) {
      groups.push({ source, shortest: piece.length })
    } else {
      last.source += `|${source}`
      last.shortest = piece.length
    }
  }
  return groups.map(({ source, shortest }) => ({ pattern: new RegExp(source, 'gi'), shortest }))
}

/** Cuts at fixed offsets, so that encodings that begin alike have the same pieces. */
function piecesOf(encoded: string): string[] {
  const count = Math.ceil(encoded.length / MAX_PIECE)
  const pieces = Array.from({ length: count }, (_, index) =>
    encoded.slice(index * MAX_PIECE, (index + 1) * MAX_PIECE),
  )
  return pieces.filter((piece) => piece.length >= MIN_LENGTH)
}

function encodingsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const base64 = Buffer.from(value).toString('base64').replace(/=+$/, '')
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    new URLSearchParams({ '': value }).toString().slice(1),
    // Through bytes, since a lone surrogate would throw.
    encodeURIComponent(Buffer.from(value).toString()),
    base64,
    base64.replaceAll('+', '-').replaceAll('/', '_'),
  ]
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
