import { createContext, runInContext } from 'node:vm'
import { GatewayError } from 'sallyport'
import { publicOrigin } from '../public-url.js'

// Milliseconds for one line: far more than any sensible pattern takes, also on a busy machine.
const TIME_LIMIT = 1_000
// The time limit makes each line slow, and this process serves requests meanwhile, when it opens a tunnel again.
const MAX_LINES = 500

/** Finds the public URL in a line; undefined when it has none. */
export type UrlFinder = (line: string) => string | undefined

/**
 * Finds the first https URL without a path: the URLs of documentation and terms, which programs print too, have one.
 */
export const findHttpsOrigin: UrlFinder = (line) => {
  for (const [text] of line.matchAll(/https:\/\/[^\s"'<>|()]+/gi)) {
    const url = text.replace(/[.,;:]+$/, '')
    const checked = publicOrigin(url)
    if ('origin' in checked && !/^https:\/\/(?:localhost|127\.|\[)/.test(checked.origin)) return url
  }
  return undefined
}

/** Finds by a regular expression, in limited time: its first group, or any match if the URL is known. */
export function patternFinder(pattern: string, publicUrl: string | undefined): UrlFinder {
  const expression = new RegExp(pattern)
  const input: { line: string; expression: RegExp } = { line: '', expression }
  const context = createContext(input)
  let lines = 0
  return (line) => {
    if (++lines > MAX_LINES) throw neverMatched()
    input.line = line
    const found = bounded(() => runInContext('expression.exec(line)', context, { timeout: TIME_LIMIT }))
    if (found === null) return undefined
    const url = publicUrl ?? found[1] ?? ''
    const checked = publicOrigin(url)
    if ('origin' in checked) return url
    throw new GatewayError(
      'TUNNEL_URL',
      `the match of the pattern cannot be the public URL: ${checked.fault}`,
    )
  }
}

function bounded(match: () => RegExpExecArray | null): RegExpExecArray | null {
  try {
    return match()
  } catch (cause) {
    throw new GatewayError(
      'TUNNEL_PATTERN',
      `the pattern takes more than ${TIME_LIMIT} ms for one line: write it without repetitions inside repetitions`,
      { cause },
    )
  }
}

const neverMatched = (): GatewayError =>
  new GatewayError(
    'TUNNEL_PATTERN',
    `none of the first ${MAX_LINES} lines matches the pattern: correct it, or let the program print less`,
  )

/** How many groups a pattern has, or undefined when it is no regular expression. */
export function groupsOf(pattern: string): number | undefined {
  try {
    return (new RegExp(`${pattern}|`).exec('')?.length ?? 1) - 1
  } catch {
    return undefined
  }
}
