import type { FastifyReply, FastifyRequest } from 'fastify'
import { definePlugin, type Gateway, PublicPath, type RegistryView, ServerCatalogue } from 'sallyport'
import { z } from 'zod'
import { SCRIPT, STYLE } from './assets.js'
import { described } from './described.js'
import { type Html, page } from './layout.js'
import { homeView, listView, loadingView, missingView, serverView } from './views.js'

export default definePlugin({
  name: 'pages/people',
  api: 1,
  summary:
    'Shows the registries to people: `/`, `/registry/{name}` with search, and a page with install snippets for each server.',
  requires: [ServerCatalogue],
  options: z.strictObject({
    anonymous: z
      .boolean()
      .default(false)
      .describe('nobody is asked for credentials, so `/` shows every registry'),
  }),

  setup(gateway, { anonymous }) {
    const pages = new Pages(gateway, anonymous)
    const { http } = gateway
    http.get('/', { config: { public: true } }, (request, reply) => pages.home(request, reply))
    http.get('/registry/:registry', (request, reply) => pages.list(request, reply))
    http.get('/registry/:registry/servers/:serverName', (request, reply) => pages.server(request, reply))
    http.get('/registry/:registry/servers/:serverName/:version', (request, reply) =>
      pages.server(request, reply),
    )
    asset(http, '/assets/people.css', 'text/css; charset=utf-8', STYLE)
    asset(http, '/assets/people.js', 'text/javascript; charset=utf-8', SCRIPT)
  },
})

function asset(http: Gateway['http'], url: string, type: string, text: string): void {
  http.get(url, { config: { public: true } }, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=300')
      .header('x-content-type-options', 'nosniff')
      .type(type)
      .send(text),
  )
}

const params = z.object({
  registry: z.string(),
  serverName: z.string().optional(),
  version: z.string().optional(),
})
// A page answers what it can make sense of: a wrong parameter in an address is no reason for an error.
const query = z.object({
  search: z.string().max(200).catch(''),
  cursor: z.string().max(1024).optional().catch(undefined),
})

const PAGE_SIZE = 30
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

class Pages {
  readonly #catalogue: () => ServerCatalogue
  readonly #open: () => readonly PublicPath[]

  constructor(
    private readonly gateway: Gateway,
    private readonly anonymous: boolean,
  ) {
    this.#catalogue = gateway.use(ServerCatalogue)
    this.#open = gateway.use(PublicPath)
  }

  /** Nobody is asked for credentials here, so it tells only what everybody may know. */
  home(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { names } = this.#catalogue()
    const visible = names.filter((name) => this.anonymous || this.isPublic(name))
    const cards = visible.map((name) => ({ name, url: this.urlOf(name) }))
    const hidden = visible.length < names.length
    return this.send(request, reply, 200, 'MCP registry', homeView(this.base, cards, hidden))
  }

  async list(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const found = await this.find(request, reply)
    if (found === undefined) return reply
    const { view } = found
    const { search, cursor } = query.parse(request.query)
    const wanted = { limit: PAGE_SIZE, search, version: 'latest', includeDeleted: false }
    const result = (await view.list({ ...wanted, cursor })) ?? (await view.list(wanted))
    const url = this.urlOf(view.name)
    const following = new URLSearchParams({
      ...(search !== '' && { search }),
      cursor: result?.nextCursor ?? '',
    })
    return this.send(
      request,
      reply,
      200,
      view.name,
      listView({
        registry: view.name,
        url,
        search,
        servers: (result?.versions ?? []).map(described),
        next: result?.nextCursor === undefined ? undefined : `${url}?${following}`,
      }),
    )
  }

  async server(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const found = await this.find(request, reply)
    if (found === undefined) return reply
    const { view, serverName = '', version } = found
    const all = await view.versions(serverName)
    const versions = all.filter(({ status }) => status !== 'deleted')
    const wanted = versions.find((held) => (version === undefined ? held.isLatest : held.version === version))
    if (wanted === undefined) return this.send(request, reply, 404, 'Not here', missingView())
    const facts = { registry: view.name, url: this.urlOf(view.name), server: described(wanted), versions }
    return this.send(request, reply, 200, serverName, serverView(facts))
  }

  /** The registry that is asked for; when there is none to show, the answer has been given. */
  private async find(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<({ readonly view: RegistryView } & z.output<typeof params>) | undefined> {
    const asked = params.parse(request.params)
    const view = this.#catalogue().registry(asked.registry)
    if (view === undefined) await this.send(request, reply, 404, 'Not here', missingView())
    else if (view === 'loading') {
      reply.header('retry-after', 5)
      await this.send(request, reply, 503, asked.registry, loadingView(asked.registry))
    } else return { ...asked, view }
    return undefined
  }

  private async send(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    title: string,
    content: Html,
  ): Promise<FastifyReply> {
    const shared = this.anonymous || request.identity === undefined
    const body = String(await page(this.base, title, content))
    const vary = reply.getHeader('vary')
    return reply
      .code(status)
      .header('content-security-policy', POLICY)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', shared ? 'public, max-age=30' : 'private, no-cache')
      .header('vary', vary === undefined ? 'Authorization' : `${String(vary)}, Authorization`)
      .type('text/html; charset=utf-8')
      .send(body)
  }

  private get base(): string {
    return this.gateway.scope
  }

  private urlOf(registry: string): string {
    return `${this.base}/registry/${encodeURIComponent(registry)}`
  }

  private isPublic(registry: string): boolean {
    return this.#open().some((path) => {
      if (!path.startsWith(`${this.base}/`)) return false
      const [first, second, ...rest] = path
        .slice(this.base.length)
        .split('/')
        .filter((segment) => segment !== '')
      return first === 'registry' && (second === undefined || second === registry) && rest.length === 0
    })
  }
}
