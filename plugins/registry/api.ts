import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Authenticator, definePlugin, type RegistryView, ServerCatalogue } from 'sallyport'
import { openAccess } from 'sallyport/toolkit'
import { z } from 'zod'
import { type CachedResponse, ResponseCache } from './cached-response.js'
import {
  deletedQuery,
  listQuery,
  registryParams,
  serverParams,
  versionParams,
  versionsQuery,
} from './queries.js'
import { listed, oneVersion, type Rendered, versionsOf } from './rendered.js'
import { API_VERSIONS, type ApiVersion, notLoaded, refuseOtherMethods, routeFor } from './route.js'
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
        querystring: versionsQuery,
        params: serverParams,
        response: serverList,
        render: (view, { serverName }, query) => versionsOf(view, serverName, query),
      }),
      this.route(version, '/:serverName/versions/:version', {
        summary: 'Get one version of a server',
        querystring: deletedQuery,
        params: versionParams,
        response: serverResponse,
        render: (view, params, query) => oneVersion(view, params, query),
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
    return routeFor({
      url: `/registry/:registry/${version}/servers${path}`,
      config: { session: true },
      schema: { ...described, tags: ['servers'], params, querystring, response: { 200: response } },
      handler: async (request, reply) => {
        const view = this.viewFor(request)
        if (view === undefined) return reply.callNotFound()
        if (view === 'loading') throw notLoaded()
        // The validator replaced them with the output of the schemas.
        const [asked, query] = [request.params as z.output<P>, request.query as z.output<Q>]
        const cache = this.cacheOf(view)
        // The key holds the parsed parameters only: equal requests share one response, and unknown parameters make no
        // new one.
        const key = JSON.stringify([path, asked, query])
        const cached = cache.get(key)
        if (cached !== undefined) return this.send(cached, request, reply)
        const rendered = await render(view, asked, query)
        if (rendered === 'unknown') return reply.callNotFound()
        return this.send(cache.add(key, rendered), request, reply)
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
