import { SEMVER } from '../../version-order.js'
import { type Finding, type Path, quoted, semantic, warning } from './issue.js'

const LONGEST = 255

/** A version names one thing, for ever: no range, and no word that means another one tomorrow. */
export function versionFindings(version: unknown, at: Path): readonly Finding[] {
  if (typeof version !== 'string') return []
  if (version.length > LONGEST) {
    return [semantic(at, 'version-too-long', `at most ${LONGEST} characters are expected`)]
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

// A segment of URLs, as it stands and when people read it: `..`, encoded or not, would be another path for most clients.
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._+:~-]+$/

/** Of a server's own version, by which the newest one is found. */
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
