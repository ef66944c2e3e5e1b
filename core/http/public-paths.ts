import type { FastifyRequest } from 'fastify'
import { ConfigError } from '../errors.js'

/** Paths that need no credentials, judged on the route that matched and the parameters its handler will see. */
export class PublicPaths {
  private readonly paths: readonly (readonly string[])[]
  // By route: most routes can never be covered, whatever is asked for.
  private readonly reachable = new Map<string, boolean>()

  constructor(paths: readonly string[]) {
    this.paths = paths.map(segmentsOf)
    // No segment at all would be a prefix of everything.
    if (this.paths.some((path) => path.length === 0)) {
      const message = 'an empty public path would open everything: use anonymous mode for that'
      throw new ConfigError([{ place: 'public paths', message }])
    }
  }

  get any(): boolean {
    return this.paths.length > 0
  }

  cover(request: FastifyRequest): boolean {
    const { is404, routeOptions } = request
    if (!is404 && !this.mayCover(routeOptions.url ?? '')) return false
    const concrete = is404 ? askedFor(request) : matched(request)
    if (concrete === undefined) return false
    return this.paths.some((path) => path.every((segment, index) => concrete[index] === segment))
  }

  private mayCover(route: string): boolean {
    let may = this.reachable.get(route)
    if (may === undefined) {
      const template = segmentsOf(route)
      const wildcard = template.indexOf('*')
      may = this.paths.some((path) =>
        path.every((segment, index) => {
          const own = template[index]
          return own === segment || own?.startsWith(':') === true || (wildcard >= 0 && index >= wildcard)
        }),
      )
      this.reachable.set(route, may)
    }
    return may
  }
}

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

/** No handler runs for an unknown path, so the words of the URL may be taken as they are. */
const askedFor = ({ url }: FastifyRequest): string[] => segmentsOf(pathOf(url))

const pathOf = (target: string): string => target.split('?', 1)[0] ?? ''

/**
 * The route's own path with its parameters put in. A value that holds a slash stays one segment, as it is
 * one parameter to the handler.
 */
function matched(request: FastifyRequest): string[] | undefined {
  const { url } = request.routeOptions
  if (url === undefined) return undefined
  const params = request.params as Readonly<Record<string, string>>
  const concrete: string[] = []
  for (const segment of segmentsOf(url)) {
    if (segment === '*') return plainRest(concrete, params['*'], request.originalUrl)
    const value = segment.startsWith(':') ? params[segment.slice(1)] : segment
    // A template of several parameters in one segment, or with a pattern: nobody can say what it stands for.
    if (value === undefined) return undefined
    concrete.push(value)
  }
  return concrete
}

// A wildcard's handler may read its rest in its own way, so only a rest that can be read in one way counts.
// An escape or a fragment is enough to doubt it: the handler may go by the text and not by what was decoded.
function plainRest(before: readonly string[], rest = '', asked: string): string[] | undefined {
  const segments = rest.split('/')
  const plain = segments.every((segment) => /^[\w~-][\w.~-]*$/.test(segment))
  return plain && !/[%#]/.test(pathOf(asked)) ? [...before, ...segments] : undefined
}
