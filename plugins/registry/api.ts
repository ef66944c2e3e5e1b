import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  Authenticator,
  definePlugin,
  type RegistryView,
  ServerCatalogue,
  type ServerVersion,
} from 'sallyport'
import { isPromise, openAccess } from 'sallyport/toolkit'
import { z } from 'zod'
import { bufferOver, withCommas } from './bytes.js'
import { CachedResponse, ResponseCache } from './cached-response.js'
import { notLoaded } from './not-loaded.js'
import { wrongParameter } from './parameters.js'
import { deletedQuery, listQuery, registryParams, serverParams, versionParams } from './queries.js'
import { API_VERSIONS, type ApiVersion, refuseOtherMethods, routeFor } from './route.js'
import { serverList, serverResponse } from './server-document.js'

export default definePlugin({
  name: 'registry/api',
  api: 1,
  summary:
    'Serves the catalogue as the MCP registry API v0.1, each registry under `/registry/{name}/v0.1` and `/registry/{name}/v0`.',
  requires: [ServerCatalogue],
  options: z.strictObject({
    anonymous: z
      .boolean()
      .optional()
      .describe(
        'callers are not authenticated, so shared caches may store responses; by default as the authenticators of the list say',
      ),
    cacheBytes: z
      .int()
      .positive()
      .default(32 * 1024 * 1024)
      .describe('bytes of cached responses, for each registry'),
  }),

  setup(gateway, { anonymous, cacheBytes }) {
    const catalogue = gateway.use(ServerCatalogue)
    const isOpen = openAccess(gateway.use(Authenticator), anonymous)
    const api = new RegistryApi(catalogue, isOpen, cacheBytes)
    for (const route of API_VERSIONS.flatMap((version) => api.routes(version))) {
      gateway.http.route(route)
      refuseOtherMethods(gateway.http, route)
    }
  },
})

const PUBLIC = 'public, max-age=30'
const PRIVATE = 'private, no-cache'

type Rendered = CachedResponse | 'unknown'

const urlOf = ({ url }: FastifyRequest): string => url

// In the path alone: what a query asks for stays as it is.
const V0 = /^([^?#;]*)\/v0\/servers/

/** The URL of the same request below v0.1, whose response is the same. */
const keyOfOther = ({ url }: FastifyRequest): string => url.replace(V0, '$1/v0.1/servers')

class RegistryApi {
  private readonly caches = new WeakMap<RegistryView, ResponseCache>()

  constructor(
    private readonly catalogue: () => ServerCatalogue,
    private readonly isOpen: () => boolean,
    private readonly cacheBytes: number,
  ) {}

  routes(version: ApiVersion): RouteOptions[] {
    return [
      this.route(version, '', {
        summary: 'List servers',
        querystring: listQuery,
        params: registryParams,
        response: serverList,
        render: (view, _params, query) => listed(view, query),
      }),
      this.route(version, '/:serverName/versions', {
        summary: 'List the versions of a server, newest first',
        querystring: deletedQuery,
        params: serverParams,
        response: serverList,
        render: (view, { serverName }, query) => versionsOf(view, serverName, query.include_deleted),
      }),
      this.route(version, '/:serverName/versions/:version', {
        summary: 'Get one version of a server',
        querystring: deletedQuery,
        params: versionParams,
        response: serverResponse,
        render: (view, params, query) => oneVersion(view, params, query.include_deleted),
      }),
    ]
  }

  private route<P extends typeof registryParams, Q extends z.ZodType>(
    version: ApiVersion,
    path: string,
    declared: {
      readonly summary: string
      readonly params: P
      readonly querystring: Q
      readonly response: z.ZodType
      readonly render: (
        view: RegistryView,
        params: z.output<P>,
        query: z.output<Q>,
      ) => Rendered | Promise<Rendered>
    },
  ): RouteOptions {
    const { render, params, querystring, response, summary } = declared
    const described = version === 'v0.1' && { summary }
    const keyOf = version === 'v0.1' ? urlOf : keyOfOther
    return routeFor({
      url: `/registry/:registry/${version}/servers${path}`,
      config: { session: true },
      schema: { ...described, tags: ['servers'], params, querystring, response: { 200: response } },
      // A URL with a response from this snapshot was validated then.
      preValidation: (request, reply, done) => {
        const view = this.viewFor(request)
        const cached = typeof view === 'object' ? this.cacheOf(view).get(keyOf(request)) : undefined
        if (cached === undefined) return done()
        void this.send(cached, request, reply)
      },
      handler: async (request, reply) => {
        const view = this.viewFor(request)
        if (view === undefined) return reply.callNotFound()
        if (view === 'loading') throw notLoaded()
        // The validator replaced them with the output of the schemas.
        const rendered = await render(view, request.params as z.output<P>, request.query as z.output<Q>)
        if (rendered === 'unknown') return reply.callNotFound()
        this.cacheOf(view).add(keyOf(request), rendered)
        return this.send(rendered, request, reply)
      },
    })
  }

  private viewFor({ params }: FastifyRequest): RegistryView | 'loading' | undefined {
    return this.catalogue().registry((params as { readonly registry: string }).registry)
  }

  private cacheOf(view: RegistryView): ResponseCache {
    const existing = this.caches.get(view)
    if (existing !== undefined) return existing
    const cache = new ResponseCache(this.cacheBytes)
    this.caches.set(view, cache)
    return cache
  }

  private send(cached: CachedResponse, request: FastifyRequest, reply: FastifyReply) {
    const isPublic = this.isOpen() || request.identity === undefined
    return cached.send(request, reply, isPublic ? PUBLIC : PRIVATE)
  }
}

async function listed(view: RegistryView, query: z.output<typeof listQuery>): Promise<Rendered> {
  const { cursor, limit, search, updated_since, version, include_deleted } = query
  const updatedSince = updated_since === undefined ? undefined : Date.parse(updated_since)
  const page = await view.list({
    limit,
    cursor: cursor === '' ? undefined : cursor,
    search,
    updatedSince,
    version,
    // A caller that follows changes has to learn of deletions.
    includeDeleted: include_deleted || updatedSince !== undefined,
  })
  if (page === undefined) throw wrongParameter('query', 'cursor', 'expected a nextCursor of this registry')
  return listResponse(page.versions, page.nextCursor)
}

async function versionsOf(view: RegistryView, name: string, includeDeleted: boolean): Promise<Rendered> {
  const versions = await visibleVersions(view, name, includeDeleted)
  return versions.length === 0 ? 'unknown' : listResponse(versions, undefined)
}

async function oneVersion(
  view: RegistryView,
  { serverName, version }: z.output<typeof versionParams>,
  includeDeleted: boolean,
): Promise<Rendered> {
  const versions = await visibleVersions(view, serverName, includeDeleted)
  const wanted = versions.find((each) => (version === 'latest' ? each.isLatest : each.version === version))
  return wanted === undefined ? 'unknown' : new CachedResponse(bufferOver(wanted.json), wanted.tag)
}

async function visibleVersions(
  view: RegistryView,
  name: string,
  includeDeleted: boolean,
): Promise<readonly ServerVersion[]> {
  const result = view.versions(name)
  const versions = isPromise(result) ? await result : result
  return includeDeleted ? versions : versions.filter(({ status }) => status !== 'deleted')
}

const LIST = Buffer.from('{"servers":[')

function listResponse(versions: readonly ServerVersion[], nextCursor: string | undefined): CachedResponse {
  const metadata = JSON.stringify({ count: versions.length, nextCursor })
  const parts = [LIST, ...withCommas(versions), Buffer.from(`],"metadata":${metadata}}`)]
  // The tags identify the parts, and are a hundredth of their bytes.
  const tags = versions.map(({ tag }) => tag).join('')
  return new CachedResponse(Buffer.concat(parts), hash('sha256', tags + metadata, 'base64url').slice(0, 22))
}
