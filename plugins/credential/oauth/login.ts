import {
  type ClientRegistrar,
  type Fetch,
  type Log,
  type RegisteredClient,
  type Scrubber,
  UpstreamError,
} from 'sallyport'
import { CallbackListener } from './callback-listener.js'
import { type Challenge, NO_CHALLENGE, readChallenges } from './challenge.js'
import { codeFlow } from './code-flow.js'
import { deviceFlow } from './device-flow.js'
import { discover, type Provider } from './discovery.js'
import type { OAuthOptions } from './options.js'
import type { Terminal } from './prompt.js'
import { type RequestedScopes, scopesFor } from './scopes.js'
import type { Session } from './session.js'
import { TokenEndpoint, type Tokens } from './token-endpoint.js'

export interface LoginRequest {
  /** The challenge of the target; without it the login first requests one. */
  readonly challenge: Challenge | undefined
  readonly previous: Session | undefined
}

interface Dependencies {
  readonly terminal: Terminal
  readonly options: OAuthOptions
  readonly fetch: Fetch
  readonly log: Log
  readonly scrubber: Scrubber
  readonly registrars: () => readonly ClientRegistrar[]
}

/** Called with the URL where the user signs in. */
export type OnPage = (url: string) => Promise<void>

const GRANTS = {
  authorization_code: ['authorization_code', 'refresh_token'],
  client_credentials: ['client_credentials'],
  device_code: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
} as const

/** A login: discovery, scopes, client registration, and the grant. */
export class Login {
  constructor(private readonly dependencies: Dependencies) {}

  async run(request: LoginRequest, signal: AbortSignal, onPage: OnPage): Promise<Session> {
    const { options, fetch } = this.dependencies
    const challenge = request.challenge ?? (await this.probe(signal))
    const provider = await discover(options, challenge, fetch)
    const requested = scopesFor(options, { challenge, provider, previous: request.previous })
    const { grant, callbackPort, callbackPortFixed } = options
    if (grant !== 'authorization_code') return this.obtainSession(provider, requested, { signal, onPage })

    // Opens the port first: it is part of the redirect URI, which is registered and sent.
    const listener = await CallbackListener.open(callbackPort, callbackPortFixed)
    try {
      return await this.obtainSession(provider, requested, { signal, onPage }, listener)
    } finally {
      await listener.close()
    }
  }

  /** Removes a client that the issuer does not know from the registrars, so that the next login registers another. */
  async forget(client: RegisteredClient): Promise<void> {
    const { registrars, log } = this.dependencies
    for (const registrar of registrars()) {
      // A failure does not stop the next login.
      await registrar
        .forget?.(client)
        .catch((err: unknown) => log.warn({ err }, 'a registered client could not be removed'))
    }
  }

  private async obtainSession(
    provider: Provider,
    requested: RequestedScopes,
    { signal, onPage }: { readonly signal: AbortSignal; readonly onPage: OnPage },
    listener?: CallbackListener,
  ): Promise<Session> {
    const { terminal, options, fetch, log, scrubber, registrars } = this.dependencies
    const { server, resource } = provider
    let { scopes } = requested
    const client = await this.client(provider, scopes, listener)
    const context = { server, client, resource }
    const endpoint = new TokenEndpoint(context, fetch)
    const { fallback } = requested
    const willRetry = ({ code }: UpstreamError): boolean =>
      code === 'OAUTH_INVALID_SCOPE' && fallback !== undefined && scopes !== fallback
    const grant = (): Promise<Tokens> =>
      listener !== undefined
        ? codeFlow({
            terminal,
            context,
            endpoint,
            listener,
            scopes,
            options,
            scrubber,
            signal,
            onPage,
            willRetry,
          })
        : options.grant === 'device_code'
          ? deviceFlow({ terminal, server, endpoint, scopes, signal, onPage })
          : endpoint.clientCredentials(scopes, signal)
    const tokens = await grant().catch(async (error: unknown) => {
      if (!(error instanceof UpstreamError)) throw error
      if (error.code === 'OAUTH_INVALID_CLIENT') await this.forget(client)
      if (fallback === undefined || !willRetry(error)) throw error
      log.warn({ scopes }, 'the issuer refuses these scopes: signing in once more, without offline_access')
      scopes = fallback
      return grant()
    })
    for (const registrar of registrars()) await registrar.accepted?.(client)
    const { target } = options
    const { clientKey: _, ...storedClient } = client
    return {
      format: 1,
      target,
      server,
      client: storedClient,
      resource,
      scopes,
      tokens,
      obtainedAt: Date.now(),
    }
  }

  private async client(
    { server }: Provider,
    scopes: readonly string[],
    listener: CallbackListener | undefined,
  ): Promise<RegisteredClient> {
    const { options, fetch, registrars } = this.dependencies
    const { issuer } = server
    const redirectUris = listener === undefined ? [] : [listener.redirectUri]
    const registration = {
      issuer,
      metadata: server,
      redirectUris,
      grantTypes: GRANTS[options.grant],
      scopes,
      fetch,
    }
    for (const registrar of registrars()) {
      const client = await registrar.register(registration)
      if (client !== undefined) return client
    }
    throw new UpstreamError(
      'CLIENT_MISSING',
      `the issuer ${issuer} registers no clients, and none is configured: a client ID of that issuer is needed`,
      { statusCode: 503, retryAfter: 30 },
    )
  }

  /** Sends the target a request without a credential, for its challenge. */
  private async probe(signal: AbortSignal): Promise<Challenge> {
    const { options, fetch, log } = this.dependencies
    if (options.issuer !== undefined || options.tokenUrl !== undefined) return NO_CHALLENGE
    const end = new AbortController()
    try {
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'probe', method: 'ping' })
      const eitherSignal = AbortSignal.any([signal, end.signal])
      const { status, headers: responseHeaders } = await fetch(options.target, {
        method: 'POST',
        headers,
        body,
        signal: eitherSignal,
      })
      const header = responseHeaders.get('www-authenticate')
      return status === 401 && header !== null ? await readChallenges([header]) : NO_CHALLENGE
    } catch (error) {
      signal.throwIfAborted()
      log.debug({ err: error }, 'the target sent no challenge; its metadata is used')
      return NO_CHALLENGE
    } finally {
      end.abort()
    }
  }
}
