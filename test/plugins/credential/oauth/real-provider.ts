import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '#kit/listening.js'

interface Details {
  readonly prompt: { readonly name: string }
  readonly params: Readonly<Record<string, string | undefined>>
  readonly session?: { readonly accountId: string }
}

interface Grant {
  addOIDCScope(scope: string): void
  addResourceScope(resource: string, scope: string): void
  save(): Promise<string>
}

/** The part of `oidc-provider` that a user's login needs, and with which a target verifies tokens. */
interface Provider {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Details>
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: object,
    options: { mergeWithLastSubmission: boolean },
  ): Promise<void>
  on(event: string, listener: () => void): void
  use(
    middleware: (
      context: { readonly path: string; readonly status: number },
      next: () => Promise<void>,
    ) => Promise<void>,
  ): void
  readonly Grant: new (fields: object) => Grant
  readonly AccessToken: { find(token: string): Promise<{ readonly isExpired: boolean } | undefined> }
}

/**
 * A target and `oidc-provider` with registration, rotation and short tokens, and a user who consents to everything.
 * `life` is the lifetime in seconds of tokens that are issued from then on. `behind` answers requests with a valid one.
 */
export async function realLogin(
  t: TestContext,
  tokens: { life: number },
  behind: RequestListener = (_request, response) => tell(response, 200, {}),
) {
  for (const method of ['info', 'warn'] as const) t.mock.method(console, method, () => {})
  const issuer = await listening(t, (request, response) => void answer(request, response))
  const counts = { refreshes: 0, logins: 0, refused: 0 }
  const { default: Library } = await import('oidc-provider')
  const provider = new Library(issuer, configuration(tokens)) as unknown as Provider
  let granted = (): unknown => undefined
  provider.on('grant.success', () => counts.refreshes++)
  provider.use(async (context, next) => {
    await next()
    if (context.path === '/token' && context.status === 200) await granted()
  })
  const callback = provider.callback()
  provider.on('grant.error', () => counts.refused++)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    const result =
      prompt.name === 'login' ? { login: { accountId: 'somebody' } } : await consent(params, session)
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
  }
  async function consent(params: Details['params'], session: Details['session']): Promise<object> {
    counts.logins++
    const grant = new provider.Grant({ accountId: session?.accountId, clientId: params['client_id'] })
    grant.addOIDCScope(params['scope'] ?? '')
    grant.addResourceScope(params['resource'] ?? '', 'read')
    return { consent: { grantId: await grant.save() } }
  }

  const [seen, refused] = [new Set<string>(), new Set<string>()]
  const origin = await listening(t, (request, response) => void serve(request, response))
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      const document = {
        resource: `${origin}/mcp`,
        authorization_servers: [issuer],
        scopes_supported: ['read'],
      }
      return tell(response, 200, document)
    }
    const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
    if (refused.has(token)) return tell(response, 401, {})
    seen.add(token)
    const found = await provider.AccessToken.find(token)
    if (found !== undefined && !found.isExpired) behind(request, response)
    else tell(response, 401, {})
  }
  /** Called when a token was granted; the response waits for it. */
  const onGrant = (listener: () => unknown): void => {
    granted = listener
  }
  /** The target refuses all tokens that it has received. */
  const refuseTokens = (): void => {
    for (const token of seen) refused.add(token)
  }
  return { target: `${origin}/mcp`, counts, onGrant, refuseTokens }
}

function tell(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A client to which the issuer does not grant `offline_access`. */
const WITHOUT_OFFLINE = {
  client_id: 'without-offline',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  scope: 'openid',
}

const configuration = (tokens: { readonly life: number }): object => ({
  clients: [WITHOUT_OFFLINE],
  ttl: { AccessToken: () => tokens.life, RefreshToken: 3600 },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, audience: string) => ({
        scope: 'read',
        audience,
        accessTokenTTL: tokens.life,
        accessTokenFormat: 'opaque',
      }),
    },
  },
})

/** Follows redirects as a browser does, with its cookies. */
export async function browse(url: string): Promise<BrowserTab> {
  const cookies = new Map<string, string>()
  const tab: BrowserTab = { addresses: [], text: '' }
  for (let at: string | undefined = url; at !== undefined; ) {
    tab.addresses.push(at)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response: Response = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      cookies.set(name, value)
    }
    tab.text = await response.text()
    const location: string | null = response.headers.get('location')
    at = location === null ? undefined : new URL(location, at).href
  }
  return tab
}

/** The pages that a tab visited, and the text that it shows at the end. */
interface BrowserTab {
  readonly addresses: string[]
  text: string
}
