import type { TestContext } from 'node:test'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type {
  OAuthClientInformationFull,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Entry, List } from 'sallyport'
import { mcpTarget } from 'sallyport/testing'
import { recordedLog, serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { PAGES, realIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'

export interface Wanted {
  readonly broker?: object
  readonly login?: object
  readonly state?: Entry
  readonly plugins?: readonly Entry[]
}

/** A proxy whose callers sign in at its broker, and the broker's people at a real issuer that registers no client. */
export async function brokered(t: TestContext, { broker, login, state, plugins = [] }: Wanted = {}) {
  const origin = new URL(await closedPort()).origin
  const issuer = await realIssuer(t, {
    people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice', refreshes: true },
  })
  const target = await mcpTarget(t)
  const resourceUrl = `${origin}/mcp`
  const home = folder(t, {})
  const list: List = [
    { use: 'listen/http', with: { address: new URL(origin).host } },
    { use: 'discovery/issuer' },
    {
      use: 'login/oidc',
      with: {
        issuerUrl: issuer.url,
        ...PAGES,
        scopes: ['openid', 'offline_access'],
        allowPrivateIP: true,
        ...login,
      },
    },
    state ?? { use: 'state/memory' },
    {
      use: 'issuer/broker',
      with: { resourceUrl, keyFile: './broker.key', scopes: ['tools'], claims: ['name'], ...broker },
    },
    { use: 'discovery/resource', with: { resource: resourceUrl, scopes: ['tools'] } },
    ...plugins,
    { use: 'forward/http', with: { target: target.url } },
  ]
  const { log, lines, scrubber } = recordedLog()
  const running = await serving(t, list, { folder: home, log, scrubber })
  return { origin, url: resourceUrl, issuer, target, lines, home, list, running }
}

export const REDIRECT = 'http://127.0.0.1:9/callback'

/** What an application keeps for the official client, which registers itself and sends a person to sign in. */
export class Application implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata: OAuthClientMetadata = { redirect_uris: [REDIRECT], client_name: 'Test <b>' }
  readonly pages: string[] = []
  client: OAuthClientInformationFull | undefined
  saved: OAuthTokens | undefined
  code = ''
  private verifier = ''

  constructor(readonly person = new Person()) {}

  clientInformation = () => this.client
  saveClientInformation(client: OAuthClientInformationFull): void {
    this.client = client
  }
  tokens = () => this.saved
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }
  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
  async redirectToAuthorization(url: URL): Promise<void> {
    const end = await this.person.follow(url.href, (each) => each.startsWith(REDIRECT))
    this.code = new URL(end.url).searchParams.get('code') ?? ''
    if (this.code === '') throw new Error(`no code: ${end.url} ${end.status} ${end.body}`)
  }
}
