import { createContext, runInContext } from 'node:vm'
import { GatewayError } from 'sallyport'
import { publicOrigin } from '../public-url.js'

// Milliseconds for one line: far more than any sensible pattern takes, also on a machine that is busy with other things.
const TIME_LIMIT = 1_000
// The time limit makes each line slow, and this process serves requests while a tunnel is opened again.
const MAX_LINES = 500

/** Finds the public URL in a line; undefined when it has none. */
export type UrlFinder = (line: string) => string | undefined

/** The first https URL without a path: those of documentation and terms, which programs print too, have one. */
export const findHttpsOrigin: UrlFinder = (line) => {
  for (const [text] of line.matchAll(/https:\/\/[^\s"'<>|()]+/gi)) {
    const url = text.replace(/[.,;:]+$/, '')
    const checked = publicOrigin(url)
    if ('origin' in checked && !/^https:\/\/(?:localhost|127\.|\[)/.test(checked.origin)) return url
  }
  return undefined
}

/** Finds by a regular expression, in limited time: its first group, or, where the URL is known, any match. */
export function patternFinder(pattern: string, publicUrl: string | undefined): UrlFinder {
  const expression = new RegExp(pattern)
  const look: { line: string; expression: RegExp } = { line: '', expression }
  const context = createContext(look)
  let lines = 0
  return (line) => {
    if (++lines > MAX_LINES) throw neverMatched()
    look.line = line
    const found = bounded(() => runInContext('expression.exec(line)', context, { timeout: TIME_LIMIT }))
    if (found === null) return undefined
    const url = publicUrl ?? found[1] ?? ''
    const checked = publicOrigin(url)
    if ('origin' in checked) return url
    throw new GatewayError('TUNNEL_URL', `what the pattern finds cannot be the public URL: ${checked.fault}`)
  }
}

function bounded(look: () => RegExpExecArray | null): RegExpExecArray | null {
  try {
    return look()
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
    `the pattern is in none of the first ${MAX_LINES} lines: correct it, or have the program print less`,
  )

/** How many groups a pattern has, or undefined when it is no regular expression. */
export function groupsOf(pattern: string): number | undefined {
  try {
    return (new RegExp(`${pattern}|`).exec('')?.length ?? 1) - 1
  } catch {
    return undefined
  }
}
