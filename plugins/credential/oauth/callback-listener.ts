import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { UpstreamError } from 'sallyport'
import { html } from 'sallyport/toolkit'

/** The callback request with the right state. `showPage` sends its response. */
export interface CallbackResult {
  readonly parameters: URLSearchParams
  readonly showPage: (title: string, ...sentences: string[]) => void
  /** Sends the browser to another page instead. Not for a callback that was pasted. */
  readonly redirect?: (url: URL) => void
}

const HOST = '127.0.0.1'

export const redirectUri = (port: number): string => `http://${HOST}:${port}/callback`

/**
 * The HTTP server of the redirect URI. Any program on this machine and any web page can send requests here: those
 * without the state of the login are refused and change nothing.
 */
export class CallbackListener {
  readonly redirectUri: string
  private pending: { readonly state: string; readonly resolve: (result: CallbackResult) => void } | undefined
  private waiting: CallbackResult | undefined

  /** Listens on this port, or on a free one when it is in use and not `fixed`. */
  static async open(port: number, fixed: boolean): Promise<CallbackListener> {
    const server = await listening(port).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' && !fixed) return listening(0)
      throw portTaken(port, error)
    })
    return new CallbackListener(server)
  }

  /** Throws unless the port is free. Processes that check at the same moment do not see each other. */
  static async requireFreePort(port: number): Promise<void> {
    const server = await listening(port, false).catch((error: NodeJS.ErrnoException) => {
      throw portTaken(port, error)
    })
    await new CallbackListener(server).close()
  }

  private constructor(private readonly server: Server) {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    this.redirectUri = redirectUri(port)
    server.on('request', (request, response) => this.handle(request, response))
  }

  /** Resolves with the first callback that has this state. */
  waitForCallback(state: string): Promise<CallbackResult> {
    return new Promise((resolve) => {
      this.pending = { state, resolve }
    })
  }

  /** Accepts the callback URL of a browser on another machine, as the user pasted it. `false` when it is not valid. */
  paste(text: string): boolean {
    const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined
    if (url === undefined || url.origin + url.pathname !== this.redirectUri) return false
    return this.accept({ parameters: url.searchParams, showPage: () => {} })
  }

  /** Before a second login: the browser of this callback waits for the next sign-in page. */
  keepWaiting(result: CallbackResult): void {
    this.waiting = result
  }

  /** Sends the browser that waits to this page. `false` when there is none. */
  redirectWaiting(url: URL): boolean {
    const redirect = this.waiting?.redirect
    this.waiting = undefined
    redirect?.(url)
    return redirect !== undefined
  }

  async close(): Promise<void> {
    this.pending = undefined
    this.waiting?.showPage('Signing in failed', 'You can close this window and try again.')
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeIdleConnections()
    const timer = setTimeout(() => this.server.closeAllConnections(), 500)
    await closed
    clearTimeout(timer)
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const status = this.refusalStatus(request, response)
    if (status !== undefined) {
      refuse(response, status)
      return
    }
    const isAccepted = this.accept({
      parameters: new URL(request.url ?? '/', this.redirectUri).searchParams,
      showPage: (title, ...sentences) => sendPage(response, 200, title, sentences),
      redirect: (url) => sendPage(response.setHeader('location', url.href), 302, 'Signing in once more', []),
    })
    if (!isAccepted) refuse(response, 400)
  }

  /** The status for a request that cannot be the callback with any parameters. */
  private refusalStatus(
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

  private accept(result: CallbackResult): boolean {
    const { pending } = this
    const states = result.parameters.getAll('state')
    if (pending === undefined || states.length !== 1 || !equalInConstantTime(states[0] ?? '', pending.state))
      return false
    this.pending = undefined
    pending.resolve(result)
    return true
  }
}

function equalInConstantTime(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

// Exclusive: otherwise the workers of one gateway would share the port, and the callback could reach a worker that does
// not wait for it.
async function listening(port: number, exclusive = true): Promise<Server> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 32 * 1024 })
  server.listen({ port, host: HOST, exclusive })
  await once(server, 'listening')
  return server
}

function refuse(response: ServerResponse, status: number): void {
  sendPage(response, status, 'This sign-in is not in progress', [
    'Nothing was changed. If you are signing in, go back to the page that the program opened or printed, and start from there.',
  ])
}

function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  sentences: readonly string[],
): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    // The address of this page holds the code.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  })
  response.end(callbackPage(title, sentences))
}

function portTaken(port: number, cause: NodeJS.ErrnoException): UpstreamError {
  const reason =
    cause.code === 'EADDRINUSE' ? 'another program listens there' : `it is refused (${cause.code})`
  const message = `the callback port ${port} is needed for signing in, and ${reason}`
  return new UpstreamError('CALLBACK_PORT_TAKEN', message, { statusCode: 503, retryAfter: 30, cause })
}

/** The page that the callback shows to the user. Without scripts, and every text is escaped. */
function callbackPage(title: string, sentences: readonly string[]): string {
  return String(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.6rem; line-height: 1.2 }
</style>
</head>
<body>
<main>
<h1>${title}</h1>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
</main>
</body>
</html>
`)
}
