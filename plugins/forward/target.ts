import { Refusal } from 'sallyport'
import { TargetQuery } from './target-query.js'

/** The server that requests go to: one host, fixed at the start, and a base path. */
export class Target {
  readonly origin: string
  readonly host: string
  readonly secure: boolean
  /** Without a slash at its end; empty at the root. */
  private readonly base: string
  /** The path for `/`, as it was configured. */
  private readonly rootPath: string
  private readonly query: TargetQuery
  /** How many segments of a request's path belong to the forwarder's scope. */
  private readonly depth: number

  /** `origins` are the origins of all replicas, this one among them. */
  constructor(
    uri: string,
    scope: string,
    private readonly origins: readonly string[] = [new URL(uri).origin],
  ) {
    const { origin, host, protocol, pathname, search } = new URL(uri)
    this.origin = origin
    this.host = host
    this.secure = protocol === 'https:'
    this.rootPath = pathname
    this.query = new TargetQuery(search)
    this.base = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
    this.depth = scope === '' ? 0 : scope.split('/').length - 1
  }

  /** The path and query to request. They are handled as text, so no part of them can choose the host. */
  pathFor(requestTarget: string): string {
    const target = this.withoutScope(originForm(requestTarget))
    if (this.base === '' && this.query.isEmpty) return target
    // A `#` has no meaning in a request target, so some servers take it as part of the path.
    const end = target.indexOf('?')
    const path = end < 0 ? target : target.slice(0, end)
    const query = this.query.before(end < 0 ? '' : target.slice(end))
    if (this.base === '') return path + query
    if (path === '/' || path === this.base || path === this.rootPath) return this.rootPath + query
    // Clients may put the target's own path after the gateway's address, as its documentation has it.
    const isBelow = path.startsWith(this.base) && path.charCodeAt(this.base.length) === SLASH
    const below = isBelow ? path.slice(this.base.length) : path
    if (MAY_CLIMB.test(below) && climbsOut(below)) {
      throw new Refusal(400, 'PATH_OUTSIDE_TARGET', "this path leads outside of the target's path")
    }
    return (isBelow ? path : this.base + path) + query
  }

  /**
   * The path of a reference in a response to `from`, if it is on the target's origin: a credential must go to no other
   * origin. URL normalizes an absolute reference first, as any client would.
   */
  pathOf(reference: string | undefined, from: string): string | undefined {
    const { origin } = this
    if (reference === undefined || !URL.canParse(reference, origin + from)) return undefined
    const to = new URL(reference, origin + from)
    const isOwn = this.origins.includes(to.origin) && to.username === '' && to.password === ''
    return isOwn ? to.pathname + to.search : undefined
  }

  // Skips the scope's segments, which the router has matched in any encoding.
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

/** The path and query of a request target; the authority of an absolute one is ignored (RFC 9112, 3.2.2). */
function originForm(target: string): string {
  if (target.charCodeAt(0) === SLASH) return target
  const [prefix] = ABSOLUTE.exec(target) ?? []
  if (prefix === undefined) {
    throw new Refusal(400, 'TARGET_FORM', 'expected a path, or a URL of http or https, as request target')
  }
  const rest = target.slice(prefix.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

const SLASH = 0x2f
const ABSOLUTE = /^https?:\/\/[^/?#]*/i
const MAY_CLIMB = /\.\.|%2e/i

// Reads a path as the most lenient server would: backslashes and encoded slashes separate, `;` begins a parameter.
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
