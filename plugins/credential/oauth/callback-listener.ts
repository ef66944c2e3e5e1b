import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { UpstreamError } from 'sallyport'
import { callbackPage } from './callback-page.js'

/** The browser came back with the right state. Somebody waits before a page until `tell` is called. */
export interface Arrival {
  readonly parameters: URLSearchParams
  readonly tell: (title: string, ...sentences: string[]) => void
}

const HOST = '127.0.0.1'

/**
 * The page that an issuer sends the browser back to. Anybody on this machine, and any web page, can ask for it: what
 * does not know the state of the login is refused and changes nothing.
 */
export class CallbackListener {
  readonly redirectUri: string
  private waiting: { readonly state: string; readonly arrived: (arrival: Arrival) => void } | undefined

  /** Listens on this port, or on a free one when it is taken and need not be this. */
  static async open(port: number, fixed: boolean): Promise<CallbackListener> {
    const server = await listening(port).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' && !fixed) return listening(0)
      throw portTaken(port, error)
    })
    return new CallbackListener(server)
  }

  /** Whether that port could be had. Processes that look at the same moment are not in each other's way. */
  static async tried(port: number): Promise<void> {
    const server = await listening(port, false).catch((error: NodeJS.ErrnoException) => {
      throw portTaken(port, error)
    })
    await new CallbackListener(server).close()
  }

  private constructor(private readonly server: Server) {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    this.redirectUri = `http://${HOST}:${port}/callback`
    server.on('request', (request, response) => this.answer(request, response))
  }

  /** Waits for the browser with this state; only the first that brings it is taken. */
  arrival(state: string): Promise<Arrival> {
    return new Promise((arrived) => {
      this.waiting = { state, arrived }
    })
  }

  /** The address bar of a browser that could not come here, as somebody pasted it. `false` when it is not that. */
  paste(text: string): boolean {
    const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
    if (url === undefined || url.origin + url.pathname !== this.redirectUri) return false
    return this.take(url.searchParams, () => {})
  }

  async close(): Promise<void> {
    this.waiting = undefined
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeIdleConnections()
    const timer = setTimeout(() => this.server.closeAllConnections(), 500)
    await closed
    clearTimeout(timer)
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const status = this.unfit(request, response)
    const told: Arrival['tell'] = (title, ...sentences) => show(response, 200, title, sentences)
    if (status !== undefined) refuse(response, status)
    else if (!this.take(new URL(request.url ?? '/', this.redirectUri).searchParams, told))
      refuse(response, 400)
  }

  /** Why this cannot be the browser that comes back, whatever it brings. */
  private unfit(
    { headers, method, url = '/' }: IncomingMessage,
    response: ServerResponse,
  ): number | undefined {
    const { host } = new URL(this.redirectUri)
    if (![host, host.replace(HOST, 'localhost')].includes(headers.host ?? '')) return 403
    if (!/^\/callback(?:\?|$)/.test(url)) return 404
    if (method === 'GET') return undefined
    response.setHeader('allow', 'GET')
    return 405
  }

  private take(parameters: URLSearchParams, tell: Arrival['tell']): boolean {
    const { waiting } = this
    const states = parameters.getAll('state')
    if (waiting === undefined || states.length !== 1 || !isSame(states[0] ?? '', waiting.state)) return false
    this.waiting = undefined
    waiting.arrived({ parameters, tell })
    return true
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

// Else the processes of one gateway would share the port, and the browser has to reach the one that waits.
async function listening(port: number, exclusive = true): Promise<Server> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 32 * 1024 })
  server.listen({ port, host: HOST, exclusive })
  await once(server, 'listening')
  return server
}

function refuse(response: ServerResponse, status: number): void {
  show(response, status, 'This is not the sign-in that is waiting', [
    'Nothing was changed. If you are signing in, go back to the page that the program opened or printed, and start from there.',
  ])
}

function show(response: ServerResponse, status: number, title: string, sentences: readonly string[]): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    // The address of this page holds the code.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  void callbackPage(title, sentences).then((page) => response.end(page))
}

function portTaken(port: number, cause: NodeJS.ErrnoException): UpstreamError {
  const reason =
    cause.code === 'EADDRINUSE' ? 'another program listens there' : `it is refused (${cause.code})`
  const message = `the callback port ${port} is needed for signing in, and ${reason}`
  return new UpstreamError('CALLBACK_PORT_TAKEN', message, { statusCode: 503, retryAfter: 30, cause })
}
