import { isInLocalNetwork, isPublicAddress } from 'sallyport/toolkit'
import { SEMVER } from '../../version-order.js'
import { type Finding, type Path, quoted, semantic, warning } from './issue.js'

const LONGEST_VERSION = 255

/** A version names one release for ever: no range, and no word such as `latest` that moves. */
export function versionFindings(version: unknown, at: Path): readonly Finding[] {
  if (typeof version !== 'string') return []
  if (version.length > LONGEST_VERSION) {
    return [semantic(at, 'version-too-long', `at most ${LONGEST_VERSION} characters are expected`)]
  }
  if (version === '') return [semantic(at, 'version-empty', 'a version is expected, such as 1.0.0')]
  if (version === 'latest') return [reserved(at)]
  if (looksLikeRange(version)) {
    const message = `one version is expected, such as 1.0.0, and ${quoted(version)} is a range`
    return [semantic(at, 'version-looks-like-range', message)]
  }
  if (version !== version.trim() || /\p{Cc}/u.test(version)) {
    const message = 'a version without white space around it and without control characters is expected'
    return [semantic(at, 'invalid-version', message)]
  }
  return []
}

// The name is a segment of URLs: most clients would read `..`, encoded or not, as another path.
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._+:~-]+$/

/** The rule for a server's own version, which decides what is newest. */
export function serverVersionFindings(version: unknown, at: Path): readonly Finding[] {
  const findings = versionFindings(version, at)
  if (typeof version !== 'string' || findings.length > 0) return findings
  if (version.toLowerCase() === 'latest') return [reserved(at)]
  if (!SEGMENT.test(version)) {
    const message = `a version such as 1.0.0 is expected: it is a part of URLs, and may have letters, digits, ".", "_", "+", ":", "~" and "-", yet not be "." or ".."`
    return [semantic(at, 'invalid-version', message)]
  }
  if (SEMVER.test(version)) return []
  const message = 'a version such as 1.0.0 is expected: others are sorted by date, below'
  return [warning(at, 'version-not-semantic', message)]
}

const reserved = (at: Path): Finding =>
  semantic(
    at,
    'reserved-version-string',
    'one version is expected, such as 1.0.0: "latest" is reserved for the newest one',
  )

function looksLikeRange(version: string): boolean {
  const text = version.trim()
  if (/^[\^~<>=]/.test(text) || text.includes('||') || text.includes(' - ')) return true
  const isWildcard = (part: string): boolean => part === 'x' || part === 'X' || part === '*'
  return text.split('.').some(isWildcard) || (text.split(/[-+]/, 1)[0] ?? '').split('.').some(isWildcard)
}

/** The rules for a URL. `reference`: the name of the rule. */
interface AddressRule {
  readonly reference: string
  /** Whether it may have variables in braces, such as `https://{tenant}.example.com`. */
  readonly hasVariables?: true
  /** Whether readers should know that only some networks reach it. */
  readonly tellsPrivate?: true
  /** Whether plain http is valid for any host. */
  readonly anyHttp?: true
}

/**
 * A company's registry may list internal servers: private hosts, also with plain http, are warnings; public plain
 * http is an error.
 */
export function addressFindings(text: string, at: Path, rule: AddressRule): readonly Finding[] {
  const { reference, hasVariables, anyHttp, tellsPrivate } = rule
  if (text.length > LONGEST_URL)
    return [semantic(at, reference, `a URL of at most ${LONGEST_URL} characters is expected`)]
  const url = parsed(hasVariables === true ? withoutVariables(text) : text)
  if (url === undefined) {
    return [semantic(at, reference, 'an absolute URL that begins with https:// is expected')]
  }
  if (url.username !== '' || url.password !== '') {
    const message =
      'a URL without user name and password is expected: every reader of the registry would have them'
    return [semantic(at, 'url-with-credentials', message)]
  }
  const reach = url.hostname.includes(PLACEHOLDER) ? 'unknown' : reachOf(url)
  if (url.protocol === 'http:' && anyHttp !== true) {
    const message = 'https is expected: plain http can be read and changed on the way'
    return reach === 'public'
      ? [semantic(at, reference, `${message}, and is for private names and addresses alone`)]
      : [warning(at, 'url-plain-http', message)]
  }
  if (tellsPrivate !== true || reach !== 'private') return []
  return [warning(at, 'url-private-host', 'a private host: only callers in its network reach it')]
}

function parsed(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s/]/.test(text) || /[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

// Suffixes that no public host name has: RFC 6761, RFC 6762 (appendix G), RFC 8375, and those of clusters.
const PRIVATE_ENDS = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'test',
  'svc',
]
const PRIVATE_END = new RegExp(`(?:^|\\.)(?:${[...PRIVATE_ENDS, 'home\\.arpa'].join('|')})\\.?$`)

function reachOf(url: URL): 'public' | 'private' {
  const host = url.hostname
  if (isInLocalNetwork(url) === true || !host.includes('.') || PRIVATE_END.test(host)) return 'private'
  const isAddress = host.startsWith('[') || /^[\d.]+$/.test(host)
  return isAddress && !isPublicAddress(host.replace(/^\[|\]$/g, '')) ? 'private' : 'public'
}

const PLACEHOLDER = 'placeholder'
// Browsers and servers refuse longer URLs.
const LONGEST_URL = 2_048

/** The names in braces. Without a regular expression, which would be quadratic in a text of braces. */
export function variablesIn(text: string): readonly string[] {
  if (text.length > LONGEST_URL) return []
  const names: string[] = []
  for (const part of text.split('{').slice(1)) {
    const end = part.indexOf('}')
    if (end > 0) names.push(part.slice(0, end))
  }
  return names
}

/** The URL with each variable replaced by a sample value, or by a number where the port stands. */
function withoutVariables(text: string): string {
  const [first = '', ...parts] = text.split('{')
  return parts.reduce((before, part) => {
    const end = part.indexOf('}')
    if (end < 1) return `${before}{${part}`
    const rest = part.slice(end + 1)
    const isPort = before.length > 'https:'.length && before.endsWith(':') && /^(?:[/?#]|$)/.test(rest)
    return `${before}${isPort ? '8080' : PLACEHOLDER}${rest}`
  }, first)
}
