import { Refusal } from 'sallyport'
import { isInsecure, isJsonObject, type JsonObject } from 'sallyport/toolkit'
import type { BrokerKeys } from './keys.js'
import type { ClientSettings } from './options.js'

const PURPOSE = 'client'
const LONGEST_ID = 2_000
const LONGEST_NAME = 200
const MOST_REDIRECT_URIS = 10

/** A client as the operator wrote it. */
export type GivenClient = ClientSettings['given'][number] & { readonly secret?: string | undefined }

/**
 * The clients of the broker. A registration is sealed into its own client ID (RFC 7591, appendix A.5.2): nothing is
 * stored for it, and it lasts as long as the key.
 */
export class Clients {
  private readonly given: ReadonlyMap<string, JsonObject>

  constructor(
    private readonly settings: ClientSettings,
    given: readonly GivenClient[],
    private readonly keys: BrokerKeys,
  ) {
    this.given = new Map(given.map((each) => [each.clientId, metadataOfGiven(each)]))
  }

  get isRegistrationOpen(): boolean {
    return this.settings.registration !== 'off'
  }

  find(id: string): JsonObject | undefined {
    const given = this.given.get(id)
    if (given !== undefined || id.length > LONGEST_ID) return given
    const sealed = this.keys.openObject(PURPOSE, id)
    if (sealed === undefined) return undefined
    const { name, uris } = sealed
    if (!Array.isArray(uris)) return undefined
    return { client_id: id, ...metadataOf(uris, typeof name === 'string' ? name : undefined) }
  }

  /** The metadata that a registration gets: what of its redirect URIs is allowed, and no secret. */
  admitted(body: unknown): JsonObject {
    if (!isJsonObject(body)) throw invalidMetadata('expected a JSON object')
    const { redirect_uris: asked, client_name: name } = body
    if (!Array.isArray(asked) || asked.length === 0)
      throw invalidRedirect('expected redirect_uris, with one URI at least')
    if (asked.length > MOST_REDIRECT_URIS)
      throw invalidRedirect(`expected at most ${MOST_REDIRECT_URIS} redirect_uris`)
    const uris = asked.filter((uri): uri is string => typeof uri === 'string' && this.isAllowed(uri))
    if (uris.length === 0)
      throw invalidRedirect('this server allows none of the redirect_uris: its operator can allow their host')
    return metadataOf(uris, typeof name === 'string' ? name.slice(0, LONGEST_NAME) : undefined)
  }

  /** The client ID of admitted metadata. */
  idOf({ redirect_uris: uris, client_name: name }: JsonObject): string {
    const id = this.keys.seal(PURPOSE, JSON.stringify({ uris, ...(name !== undefined && { name }) }))
    if (id.length > LONGEST_ID) throw invalidRedirect('the redirect_uris are too long')
    return id
  }

  /** Only in normal form: one document is one client, with the host that a person reads. */
  mayFetch(url: string): boolean {
    return (
      URL.canParse(url) &&
      new URL(url).href === url &&
      this.settings.documents.some((pattern) => fits(new URL(url), pattern))
    )
  }

  /** Of a metadata document, which has no part that could be left out. */
  areAllowed(uris: readonly string[]): boolean {
    return uris.every(
      (uri) => this.isAllowed(uri) || (URL.canParse(uri) && new URL(uri).protocol === 'https:'),
    )
  }

  private isAllowed(uri: string): boolean {
    const { registration, known, redirectHosts } = this.settings
    if (!URL.canParse(uri) || uri.includes('#')) return false
    const url = new URL(uri)
    if (FORBIDDEN_SCHEMES.has(url.protocol)) return false
    if (known && isKnownRedirect(uri)) return true
    if (url.protocol === 'http:') return !isInsecure(url)
    if (url.protocol !== 'https:') return false
    if (registration === 'open') return true
    return registration === 'listed' && redirectHosts.some((pattern) => fits(url, pattern))
  }
}

/**
 * The redirect URIs of clients that are known to have them: hosted clients, and programs with a scheme of their own,
 * which could not register otherwise. Each is compared byte for byte, but a `*` at the end stands for one segment.
 * Loopback URIs need no entry.
 */
const KNOWN_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  // Each connector of a person has a callback of its own; the second is that of older connectors.
  ChatGPT: ['https://chatgpt.com/connector/oauth/*', 'https://chatgpt.com/connector_platform_oauth_redirect'],
  Claude: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  Cursor: [
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'https://www.cursor.com/agents/mcp/oauth/callback',
    'https://www.cursor.com/bot/mcp/oauth/callback',
  ],
  'VS Code': ['https://vscode.dev/redirect', 'https://insiders.vscode.dev/redirect'],
}

const KNOWN = Object.values(KNOWN_CLIENTS).flat()
const KNOWN_EXACTLY = new Set(KNOWN.filter((uri) => !uri.endsWith('*')))
const KNOWN_BELOW = KNOWN.filter((uri) => uri.endsWith('*')).map((uri) => uri.slice(0, -1))

/** Whether a client is known to have this redirect URI. */
const isKnownRedirect = (uri: string): boolean =>
  KNOWN_EXACTLY.has(uri) ||
  KNOWN_BELOW.some((start) => uri.startsWith(start) && /^[\w-]+$/.test(uri.slice(start.length)))

const FORBIDDEN_SCHEMES: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'file:',
  'vbscript:',
  'blob:',
])

/** A host, at the default port unless it names another; `*.example.net` stands for those below it, and `*` for all. */
function fits({ protocol, hostname, host }: URL, pattern: string): boolean {
  if (protocol !== 'https:') return false
  if (pattern === '*') return host === hostname
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern
}

function metadataOf(uris: readonly string[], name: string | undefined): JsonObject {
  return {
    redirect_uris: uris,
    ...(name !== undefined && { client_name: name }),
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: applicationType(uris),
  }
}

/** OpenID Connect Registration, 2: a native client has loopback URIs on any port, and schemes of its own. */
const applicationType = (uris: readonly unknown[]): string =>
  uris.every((uri) => typeof uri === 'string' && uri.startsWith('https:')) ? 'web' : 'native'

function metadataOfGiven({ clientId, name, redirectUris, secret, jwksUrl }: GivenClient): JsonObject {
  return {
    client_id: clientId,
    ...metadataOf(redirectUris, name),
    ...(secret !== undefined && { client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' }),
    ...(jwksUrl !== undefined && { jwks_uri: jwksUrl, token_endpoint_auth_method: 'private_key_jwt' }),
  }
}

// The codes of RFC 7591, 3.2.2, as `Refusal` writes them in lower case.
const invalidMetadata = (message: string): Refusal => new Refusal(400, 'INVALID_CLIENT_METADATA', message)
const invalidRedirect = (message: string): Refusal => new Refusal(400, 'INVALID_REDIRECT_URI', message)
