import type { FastifyRequest } from 'fastify'
import { ConfigError } from '../contract/errors.js'

/** Paths that need no credentials, compared with the matched route and the parameters that its handler gets. */
export class PublicPaths {
  private readonly paths: readonly (readonly string[])[]
  // Cached by route: most routes can never be public, whatever path is requested.
  private readonly coverable = new Map<string, boolean>()

  constructor(paths: readonly string[]) {
    this.paths = paths.map(segmentsOf)
    // A path without segments would be a prefix of every path.
    if (this.paths.some((path) => path.length === 0)) {
      const message = 'an empty public path would make every path public: use anonymous mode for that'
      throw new ConfigError([{ place: 'public paths', message }])
    }
  }

  get any(): boolean {
    return this.paths.length > 0
  }

  covers(request: FastifyRequest): boolean {
    const { is404, routeOptions } = request
    if (!is404 && !this.mayCover(routeOptions.url ?? '')) return false
    const concrete = is404 ? requestedSegments(request) : matchedSegments(request)
    if (concrete === undefined) return false
    return this.paths.some((path) => path.every((segment, index) => concrete[index] === segment))
  }

  private mayCover(route: string): boolean {
    let may = this.coverable.get(route)
    if (may === undefined) {
      const template = segmentsOf(route)
      const wildcard = template.indexOf('*')
      may = this.paths.some((path) =>
        path.every((segment, index) => {
          const own = template[index]
          return own === segment || own?.startsWith(':') === true || (wildcard >= 0 && index >= wildcard)
        }),
      )
      this.coverable.set(route, may)
    }
    return may
  }
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

/** No handler runs for an unknown path, so the URL's own segments are safe to compare. */
const requestedSegments = ({ url }: FastifyRequest): string[] => segmentsOf(pathOf(url))

const pathOf = (target: string): string => target.split('?', 1)[0] ?? ''

/**
 * The route's path with its parameters filled in. A value with a slash stays one segment, as the handler gets it as one
 * parameter.
 */
function matchedSegments(request: FastifyRequest): string[] | undefined {
  const { url } = request.routeOptions
  if (url === undefined) return undefined
  const params = request.params as Readonly<Record<string, string>>
  const concrete: string[] = []
  for (const segment of segmentsOf(url)) {
    if (segment === '*') return wildcardSegments(concrete, params['*'], request.originalUrl)
    const value = segment.startsWith(':') ? params[segment.slice(1)] : segment
    // Several parameters in one segment, or one with a pattern: the segment's value is unknown.
    if (value === undefined) return undefined
    concrete.push(value)
  }
  return concrete
}

// The handler of a wildcard may parse the rest in its own way, so this compares only an unambiguous rest. An escape or
// a fragment is ambiguous: the handler may use the raw text instead of the decoded one.
function wildcardSegments(before: readonly string[], rest = '', requested: string): string[] | undefined {
  const segments = rest.split('/')
  const plain = segments.every((segment) => /^[\w~-][\w.~-]*$/.test(segment))
  return plain && !/[%#]/.test(pathOf(requested)) ? [...before, ...segments] : undefined
}
