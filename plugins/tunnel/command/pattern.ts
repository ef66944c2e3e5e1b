import { createContext, runInContext } from 'node:vm'
import { GatewayError } from 'sallyport'
import { publicOrigin } from '../public-url.js'

// Far more than any sensible pattern takes for one line.
const LIMIT = 50
// Bounding the time of one line has a price of its own, and this process has callers while a tunnel is opened again.
const MOST_LINES = 2_000

/** Finds the public URL in a line, or that the line says nothing of it. */
export type Finder = (line: string) => string | undefined

/** The first https URL that is nothing but a host: those of documentation and terms, which programs print too, have a path. */
export const findHost: Finder = (line) => {
  for (const [text] of line.matchAll(/https:\/\/[^\s"'<>|()]+/gi)) {
    const url = text.replace(/[.,;:]+$/, '')
    const judged = publicOrigin(url)
    if ('origin' in judged && !/^https:\/\/(?:localhost|127\.|\[)/.test(judged.origin)) return url
  }
  return undefined
}

/** Finds by a regular expression, in bounded time: its first group, or, where the URL is known, any match. */
export function finderBy(pattern: string, known: string | undefined): Finder {
  const expression = new RegExp(pattern)
  const look: { line: string; expression: RegExp } = { line: '', expression }
  const context = createContext(look)
  let lines = 0
  return (line) => {
    if (++lines > MOST_LINES) throw endless()
    look.line = line
    const found = bounded(() => runInContext('expression.exec(line)', context, { timeout: LIMIT }))
    if (found === null) return undefined
    const url = known ?? found[1] ?? ''
    const judged = publicOrigin(url)
    if ('origin' in judged) return url
    throw new GatewayError('TUNNEL_URL', `what the pattern finds cannot be the public URL: ${judged.fault}`)
  }
}

function bounded(look: () => RegExpExecArray | null): RegExpExecArray | null {
  try {
    return look()
  } catch (cause) {
    throw new GatewayError(
      'TUNNEL_PATTERN',
      `the pattern takes more than ${LIMIT} ms for one line: write it without repetitions inside repetitions`,
      { cause },
    )
  }
}

const endless = (): GatewayError =>
  new GatewayError(
    'TUNNEL_PATTERN',
    `the pattern is in none of the first ${MOST_LINES} lines: correct it, or have the program say less`,
  )

/** How many groups a pattern has, or nothing when it is no regular expression. */
export function groupsOf(pattern: string): number | undefined {
  try {
    return (new RegExp(`${pattern}|`).exec('')?.length ?? 1) - 1
  } catch {
    return undefined
  }
}
