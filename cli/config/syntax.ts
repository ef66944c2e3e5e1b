import { isScalar, type YAMLError } from 'yaml'

const messages: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  BAD_ALIAS: 'an alias without an anchor before it; a value that begins with * needs quotes',
  BAD_DQ_ESCAPE: 'an unknown escape in a double-quoted text',
  BAD_INDENT: 'wrong indentation, or brackets that are not closed',
  BLOCK_IN_FLOW: 'indented lines inside brackets',
  DUPLICATE_KEY: 'this key is repeated',
  MISSING_CHAR: 'a closing quote, bracket, comma or colon is missing',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines, perhaps a colon or a quote is missing',
  MULTIPLE_DOCS: 'a second document begins, a file holds one',
  NON_STRING_KEY: 'a key that is not a text',
  TAB_AS_INDENT: 'a tab in the indentation, spaces are expected',
  UNEXPECTED_TOKEN: 'not valid YAML from here on; a value that holds { } [ ] # or a colon needs quotes',
  TAG_RESOLVE_FAILED: 'an unknown tag, or a value that does not fit its tag',
}

/** What a syntax error means. The library's own message quotes the file, secrets too. */
export function syntaxMessage(code: YAMLError['code']): string {
  return messages[code] ?? 'not valid YAML'
}

/** The position of a key that could change an object's prototype. */
export function forbiddenKey(key: unknown): number | undefined {
  return isScalar(key) && key.value === '__proto__' ? (key.range?.[0] ?? 0) : undefined
}

// What these say is where it is wrong, and that in full.
const PRECISE: ReadonlySet<YAMLError['code']> = new Set([
  'BAD_ALIAS',
  'BAD_DQ_ESCAPE',
  'MULTIPLE_DOCS',
  'TAG_RESOLVE_FAILED',
])

/** Whether a syntax error may come from a mistake on another line, or of another kind. */
export const mayBeSlip = (code: YAMLError['code']): boolean => !PRECISE.has(code)

/** The position of a key that begins with a space that YAML takes for a letter. */
export function keyAfterWideSpace(key: unknown): number | undefined {
  const isWide = isScalar(key) && /^[\u00a0\u2000-\u200b\u202f\u3000\ufeff]/.test(String(key.value))
  return isWide ? (key.range?.[0] ?? 0) : undefined
}
