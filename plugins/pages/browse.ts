import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  Authenticator,
  BrowserSession,
  definePlugin,
  type Gateway,
  ManagedSource,
  PublicPath,
  type RegistryView,
  ServerCatalogue,
} from 'sallyport'
import { type Html, openAccess } from 'sallyport/toolkit'
import { z } from 'zod'
import { accessOf, type ErrorBody, errorIn, errorView, titleOf, wantsHtml } from './access.js'
import { ICON, SCRIPT, STYLE } from './assets.js'
import { HistoryReader } from './history.js'
import { accountView, page, signInLink, withPageHeaders } from './layout.js'
import { ServerSearch } from './search.js'
import { detailsOf, summaryOf } from './server-details.js'
import { deletedView, homeView, listView, loadingView, missingView, serverView } from './views.js'

export default definePlugin({
  name: 'pages/browse',
  api: 1,
  summary:
    'Shows the registries in a browser: `/`, `/registry/{name}` with search, and a page with install snippets for each server.',
  requires: [ServerCatalogue],
  options: z.strictObject({
    anonymous: z
      .boolean()
      .optional()
      .describe(
        'callers are not authenticated, so `/` shows every registry; by default as the authenticators of the list say',
      ),
  }),

  setup(gateway, { anonymous }) {
    const isOpen = openAccess(gateway.use(Authenticator), anonymous)
    const pages = new Pages(gateway, isOpen)
    const { http } = gateway
    // With a callback, so that other responses do not wait for a promise.
    http.addHook('onSend', (request, reply, payload, done) => {
      const wanted = reply.statusCode >= 400 && wantsHtml(request)
      const error = wanted ? errorIn(reply, payload) : undefined
      if (error === undefined) done(null, payload)
      else pages.errorPage(request, reply, error).then((body) => done(null, body), done)
    })
    const config = { session: true }
    http.get('/', { config: { ...config, public: true } }, (request, reply) => pages.home(request, reply))
    http.get('/registry/:registry', { config }, (request, reply) => pages.list(request, reply))
    const server = '/registry/:registry/servers/:serverName'
    http.get(server, { config }, (request, reply) => pages.server(request, reply))
    http.get(`${server}/:version`, { config }, (request, reply) => pages.server(request, reply))
    asset(http, '/assets/browse.css', 'text/css; charset=utf-8', STYLE)
    asset(http, '/assets/icon.svg', 'image/svg+xml', ICON)
    // Browsers request the icon for responses without a link to one, such as JSON.
    asset(http, '/favicon.ico', 'image/svg+xml', ICON)
    asset(http, '/assets/browse.js', 'text/javascript; charset=utf-8', SCRIPT)
  },
})

function asset(http: Gateway['http'], url: string, type: string, text: string): void {
  http.get(url, { config: { public: true } }, (_request, reply) =>
    reply.header('cache-control', 'public, max-age=300').type(type).send(text),
  )
}

const params = z.object({
  registry: z.string(),
  serverName: z.string().optional(),
  version: z.string().optional(),
})
// A page ignores invalid parameters instead of showing an error about its URL.
const query = z.object({
  search: z.string().max(200).catch(''),
  cursor: z.string().max(1024).optional().catch(undefined),
})

const PAGE_SIZE = 30

class Pages {
  private readonly catalogue: () => ServerCatalogue
  private readonly search = new ServerSearch()
  private readonly history: HistoryReader
  private readonly publicPaths: () => readonly PublicPath[]
  private readonly sessions: () => readonly BrowserSession[]

  constructor(
    private readonly gateway: Gateway,
    private readonly isOpen: () => boolean,
  ) {
    this.catalogue = gateway.use(ServerCatalogue)
    this.history = new HistoryReader(gateway.use(ManagedSource), gateway.log)
    this.publicPaths = gateway.use(PublicPath)
    this.sessions = gateway.use(BrowserSession)
  }

  /** A public route: without a session it lists public registries only. */
  async home(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { names } = this.catalogue()
    const isOpen = this.isOpen() || request.identity !== undefined
    const visible = names.filter((name) => isOpen || this.isPublic(name))
    const cards = visible.map((name) => ({ name, url: this.urlOf(name) }))
    const access = visible.length < names.length ? await accessOf(this.gateway, request) : undefined
    return this.send(request, reply, 200, 'MCP registry', homeView(cards, access))
  }

  /** Sends a browser a page for an error, and with a 401 the next steps. Status and challenge stay. */
  async errorPage(request: FastifyRequest, reply: FastifyReply, error: ErrorBody): Promise<string> {
    const { statusCode } = reply
    const access = statusCode === 401 ? await accessOf(this.gateway, request) : undefined
    const { registry } = params.partial().safeParse(request.params).data ?? {}
    const signIn = statusCode === 401 ? signInLink(this.sessions(), request) : undefined
    const view = errorView(statusCode, error, { access, registry, signIn })
    const account = signIn === undefined ? accountView(this.sessions(), request) : undefined
    withPageHeaders(reply, this.hasSessions)
    return String(page(this.base, titleOf(statusCode, signIn !== undefined), view, account))
  }

  async list(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const found = await this.find(request, reply)
    if (found === undefined) return reply
    const { view } = found
    const { search, cursor } = query.parse(request.query)
    const { versions, next } =
      search.trim() === '' ? await this.all(view, cursor) : await this.matching(view, search, cursor)
    const url = this.urlOf(view.name)
    const nextQuery = new URLSearchParams({ ...(search !== '' && { search }), cursor: next ?? '' })
    return this.send(
      request,
      reply,
      200,
      view.name,
      listView({
        registry: view.name,
        url,
        search,
        count: await this.search.count(view),
        servers: versions.map(summaryOf),
        next: next === undefined ? undefined : `${url}?${nextQuery}`,
      }),
    )
  }

  private async all(view: RegistryView, cursor: string | undefined) {
    const wanted = { limit: PAGE_SIZE, version: 'latest', includeDeleted: false }
    const page = (await view.list({ ...wanted, cursor })) ?? (await view.list(wanted))
    return { versions: page?.versions ?? [], next: page?.nextCursor }
  }

  private async matching(view: RegistryView, search: string, cursor = '') {
    const from = /^\d{1,9}$/.test(cursor) ? Number(cursor) : 0
    const { versions, next } = await this.search.find(view, search, from, PAGE_SIZE)
    return { versions, next: next === undefined ? undefined : String(next) }
  }

  async server(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const found = await this.find(request, reply)
    if (found === undefined) return reply
    const { view, serverName = '', version } = found
    const versions = await view.versions(serverName)
    const [newest] = versions
    const wanted = versions.find((each) => (version === undefined ? each.isLatest : each.version === version))
    const shown = wanted ?? (version === undefined ? newest : undefined)
    if (shown === undefined) return this.send(request, reply, 404, 'Not found', missingView())
    const history = await this.history.of(view, { name: serverName, version: shown.version })
    const props = { registry: view.name, url: this.urlOf(view.name), server: detailsOf(shown), history }
    // The same text as in the API.
    if (shown.status === 'deleted') return this.send(request, reply, 404, serverName, deletedView(props))
    return this.send(request, reply, 200, serverName, serverView({ ...props, versions }))
  }

  /** The requested registry; undefined when an error page was sent instead. */
  private async find(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<({ readonly view: RegistryView } & z.output<typeof params>) | undefined> {
    const requested = params.parse(request.params)
    const view = this.catalogue().registry(requested.registry)
    if (view === undefined) await this.send(request, reply, 404, 'Not found', missingView())
    else if (view === 'loading') {
      reply.header('retry-after', 5)
      await this.send(request, reply, 503, requested.registry, loadingView(requested.registry))
    } else return { ...requested, view }
    return undefined
  }

  private send(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    title: string,
    content: Html,
  ): FastifyReply {
    const isPerson = this.sessions().some((session) => session.person(request) !== undefined)
    const isPublic = !isPerson && (this.isOpen() || request.identity === undefined)
    // A browser would show a stored page again to a person who goes back after signing out.
    const cacheControl = isPublic ? 'public, max-age=30' : 'no-store'
    const body = String(page(this.base, title, content, accountView(this.sessions(), request)))
    return withPageHeaders(reply, this.hasSessions)
      .code(status)
      .header('cache-control', cacheControl)
      .send(body)
  }

  private get hasSessions(): boolean {
    return this.sessions().length > 0
  }

  private get base(): string {
    return this.gateway.scope
  }

  private urlOf(registry: string): string {
    return `${this.base}/registry/${encodeURIComponent(registry)}`
  }

  private isPublic(registry: string): boolean {
    return this.publicPaths().some((path) => {
      if (!path.startsWith(`${this.base}/`)) return false
      const [first, second, ...rest] = path
        .slice(this.base.length)
        .split('/')
        .filter((segment) => segment !== '')
      return first === 'registry' && (second === undefined || second === registry) && rest.length === 0
    })
  }
}
