import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import {
  definePlugin,
  isPromise,
  type RegistryView,
  ServerCatalogue,
  type ServerVersion,
  UpstreamError,
} from 'sallyport'
import { z } from 'zod'
import { Answer, AnswerCache } from './answer.js'
import { wrongParameter } from './parameters.js'
import { deletedQuery, listQuery, registryParams, serverParams, versionParams } from './queries.js'
import { routeFor } from './route.js'
import { serverList, serverResponse } from './server-document.js'

export default definePlugin({
  name: 'registry/api',
  api: 1,
  summary: 'Serves the catalogue as the MCP registry API v0.1, each registry under `/registry/{name}/v0.1`.',
  requires: [ServerCatalogue],
  options: z.strictObject({
    anonymous: z
      .boolean()
      .default(false)
      .describe('nobody is asked for credentials, so shared caches may keep answers'),
    cacheBytes: z
      .int()
      .positive()
      .default(32 * 1024 * 1024)
      .describe('room for whole answers that are asked for again, for each registry'),
  }),

  setup(gateway, { anonymous, cacheBytes }) {
    const catalogue = gateway.use(ServerCatalogue)
    const api = new RegistryApi(catalogue, anonymous, cacheBytes)
    for (const route of api.routes()) gateway.http.route(route)
  },
})

const PUBLIC = 'public, max-age=30'
const PRIVATE = 'private, no-cache'

type Rendered = Answer | 'unknown'

class RegistryApi {
  readonly #caches = new WeakMap<RegistryView, AnswerCache>()

  constructor(
    private readonly catalogue: () => ServerCatalogue,
    private readonly anonymous: boolean,
    private readonly cacheBytes: number,
  ) {}

  routes(): RouteOptions[] {
    const base = '/registry/:registry/v0.1/servers'
    return [
      this.route(`${base}`, {
        summary: 'List servers',
        querystring: listQuery,
        params: registryParams,
        response: serverList,
        render: (view, _params, query) => listed(view, query),
      }),
      this.route(`${base}/:serverName/versions`, {
        summary: 'List the versions of a server, newest first',
        querystring: deletedQuery,
        params: serverParams,
        response: serverList,
        render: (view, { serverName }, query) => versionsOf(view, serverName, query.include_deleted),
      }),
      this.route(`${base}/:serverName/versions/:version`, {
        summary: 'Get one version of a server',
        querystring: deletedQuery,
        params: versionParams,
        response: serverResponse,
        render: (view, params, query) => oneVersion(view, params, query.include_deleted),
      }),
    ]
  }

  private route<P extends typeof registryParams, Q extends z.ZodType>(
    url: string,
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
    return routeFor({
      url,
      schema: { summary, tags: ['servers'], params, querystring, response: { 200: response } },
      // A URL that was answered from this snapshot was found good then, and need not be read again.
      preValidation: (request, reply, done) => {
        const view = this.viewFor(request)
        const answer = typeof view === 'object' ? this.cacheOf(view).get(request.url) : undefined
        if (answer === undefined) return done()
        void this.send(answer, request, reply)
      },
      handler: async (request, reply) => {
        const view = this.viewFor(request)
        if (view === undefined) return reply.callNotFound()
        if (view === 'loading') throw notLoaded()
        // The validator has put there what the schemas make of the request.
        const answer = await render(view, request.params as z.output<P>, request.query as z.output<Q>)
        if (answer === 'unknown') return reply.callNotFound()
        this.cacheOf(view).add(request.url, answer)
        return this.send(answer, request, reply)
      },
    })
  }

  private viewFor({ params }: FastifyRequest): RegistryView | 'loading' | undefined {
    return this.catalogue().registry((params as { readonly registry: string }).registry)
  }

  private cacheOf(view: RegistryView): AnswerCache {
    const known = this.#caches.get(view)
    if (known !== undefined) return known
    const cache = new AnswerCache(this.cacheBytes)
    this.#caches.set(view, cache)
    return cache
  }

  private send(answer: Answer, request: FastifyRequest, reply: FastifyReply) {
    const open = this.anonymous || request.identity === undefined
    return answer.send(request, reply, open ? PUBLIC : PRIVATE)
  }
}

const notLoaded = (): UpstreamError =>
  new UpstreamError('REGISTRY_NOT_LOADED', 'this registry has not been loaded yet', {
    statusCode: 503,
    retryAfter: 5,
  })

async function listed(view: RegistryView, query: z.output<typeof listQuery>): Promise<Rendered> {
  const { cursor, limit, search, updated_since, version, include_deleted } = query
  const updatedSince = updated_since === undefined ? undefined : Date.parse(updated_since)
  const page = await view.list({
    limit,
    cursor: cursor === '' ? undefined : cursor,
    search,
    updatedSince,
    version,
    // Who follows changes has to learn of what went away.
    includeDeleted: include_deleted || updatedSince !== undefined,
  })
  if (page === undefined) throw wrongParameter('query', 'cursor', 'expected a nextCursor of this registry')
  return listAnswer(page.versions, page.nextCursor)
}

async function versionsOf(view: RegistryView, name: string, includeDeleted: boolean): Promise<Rendered> {
  const versions = await shown(view, name, includeDeleted)
  return versions.length === 0 ? 'unknown' : listAnswer(versions, undefined)
}

async function oneVersion(
  view: RegistryView,
  { serverName, version }: z.output<typeof versionParams>,
  includeDeleted: boolean,
): Promise<Rendered> {
  const versions = await shown(view, serverName, includeDeleted)
  const wanted = versions.find((held) => (version === 'latest' ? held.isLatest : held.version === version))
  return wanted === undefined ? 'unknown' : new Answer(bufferOf(wanted.json), wanted.tag)
}

async function shown(
  view: RegistryView,
  name: string,
  includeDeleted: boolean,
): Promise<readonly ServerVersion[]> {
  const answer = view.versions(name)
  const versions = isPromise(answer) ? await answer : answer
  return includeDeleted ? versions : versions.filter(({ status }) => status !== 'deleted')
}

const LIST = Buffer.from('{"servers":[')
const COMMA = Buffer.from(',')

function listAnswer(versions: readonly ServerVersion[], nextCursor: string | undefined): Answer {
  const parts: Uint8Array[] = [LIST]
  for (const [index, { json }] of versions.entries()) {
    if (index > 0) parts.push(COMMA)
    parts.push(json)
  }
  const metadata = JSON.stringify({ count: versions.length, nextCursor })
  parts.push(Buffer.from(`],"metadata":${metadata}}`))
  // The tags of the parts say as much as all the bytes, and are a hundredth of them.
  const tags = versions.map(({ tag }) => tag).join('')
  return new Answer(Buffer.concat(parts), hash('sha256', tags + metadata, 'base64url').slice(0, 22))
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
