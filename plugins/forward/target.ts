import { Refusal } from 'sallyport'

/** Where requests go: one host, fixed at the start, and the path under which all of them lie. */
export class Target {
  readonly origin: string
  readonly host: string
  readonly secure: boolean
  /** Without a slash at its end; empty at the root. */
  private readonly base: string
  /** What stands for `/`, as it was written. */
  private readonly itself: string
  /** How many segments of a request's path belong to the scope that the forwarder stands in. */
  private readonly depth: number

  constructor(uri: string, scope: string) {
    const { origin, host, protocol, pathname } = new URL(uri)
    this.origin = origin
    this.host = host
    this.secure = protocol === 'https:'
    this.itself = pathname
    this.base = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
    this.depth = scope === '' ? 0 : scope.split('/').length - 1
  }

  /** The path and query to ask the target for. All of it is text: no byte of it ever chooses a host. */
  pathFor(requestTarget: string): string {
    const target = this.withoutScope(originForm(requestTarget))
    if (this.base === '') return target
    // A `#` has no meaning in a request target, so some servers take it for one more letter of the path.
    const end = target.indexOf('?')
    const path = end < 0 ? target : target.slice(0, end)
    const query = end < 0 ? '' : target.slice(end)
    if (path === '/' || path === this.base || path === this.itself) return this.itself + query
    if (MAY_CLIMB.test(path) && climbsOut(path)) {
      throw new Refusal(400, 'PATH_OUTSIDE_TARGET', 'this path leads out of what is served here')
    }
    return this.base + target
  }

  // The router has matched the scope's segments, in whatever spelling; here they are only counted off.
  private withoutScope(target: string): string {
    let start = 0
    for (let passed = 0; passed < this.depth; passed++) {
      const slash = target.indexOf('/', start + 1)
      const query = target.indexOf('?')
      if (slash < 0 || (query >= 0 && slash > query)) return query < 0 ? '/' : `/${target.slice(query)}`
      start = slash
    }
    return start === 0 ? target : target.slice(start)
  }
}

/** The path and query of a request target; the authority of an absolute one chooses nothing (RFC 9112, 3.2.2). */
function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target
  const [prefix] = ABSOLUTE.exec(target) ?? []
  if (prefix === undefined) {
    throw new Refusal(400, 'TARGET_FORM', 'a path, or a URL of http or https, was expected as request target')
  }
  const rest = target.slice(prefix.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

const SLASH = 0x2f
const ABSOLUTE = /^https?:\/\/[^/?#]*/i
const MAY_CLIMB = /\.\.|%2e/i

// Read as the most generous server would: backslashes and encoded slashes separate, `;` begins a parameter.
function climbsOut(path: string): boolean {
  let depth = 0
  for (const segment of path.split(/\/|\\|%2f|%5c/i).slice(1)) {
    const name = (segment.split(/;|%3b/i, 1)[0] ?? '').replaceAll(/%2e/gi, '.')
    if (name === '..') depth--
    else if (name !== '.' && name !== '') depth++
    if (depth < 0) return true
  }
  return false
}
