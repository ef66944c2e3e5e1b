import { type ClientRegistrar, type Fetch, type Log, type RegisteredClient, UpstreamError } from 'sallyport'
import { CallbackListener } from './callback-listener.js'
import { type Challenge, NO_CHALLENGE, readChallenges } from './challenge.js'
import { codeFlow } from './code-flow.js'
import { deviceFlow } from './device-flow.js'
import { discover, type Provider } from './discovery.js'
import type { OAuthOptions } from './options.js'
import { scopesFor } from './scopes.js'
import type { Session } from './session.js'
import { TokenEndpoint } from './token-endpoint.js'

export interface Wish {
  /** What the target said when it refused; without it the target is asked first. */
  readonly challenge: Challenge | undefined
  readonly previous: Session | undefined
}

interface Surroundings {
  readonly options: OAuthOptions
  readonly fetch: Fetch
  readonly log: Log
  readonly registrars: () => readonly ClientRegistrar[]
}

const GRANTS = {
  authorization_code: ['authorization_code', 'refresh_token'],
  client_credentials: ['client_credentials'],
  device_code: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
} as const

/** One whole login: who gives tokens, as which client, for which scopes, and then the tokens. */
export class Login {
  constructor(private readonly surroundings: Surroundings) {}

  async run(wish: Wish, signal: AbortSignal): Promise<Session> {
    const { options, fetch } = this.surroundings
    const challenge = wish.challenge ?? (await this.probe(signal))
    const provider = await discover(options, challenge, fetch)
    const scopes = scopesFor(options, { challenge, provider, previous: wish.previous })
    const { grant, callbackPort, callbackPortFixed } = options
    if (grant !== 'authorization_code') return this.granted(provider, scopes, signal)

    // First the door, then the way to it: the port stands in what is registered, and in the URL.
    const listener = await CallbackListener.open(callbackPort, callbackPortFixed)
    try {
      return await this.granted(provider, scopes, signal, listener)
    } finally {
      await listener.close()
    }
  }

  /** Tells who can that the issuer does not know the client, so that the next login brings another. */
  async forget(client: RegisteredClient): Promise<void> {
    for (const registrar of this.surroundings.registrars()) await registrar.forget?.(client)
  }

  private async granted(
    provider: Provider,
    scopes: readonly string[],
    signal: AbortSignal,
    listener?: CallbackListener,
  ): Promise<Session> {
    const { options, fetch, registrars } = this.surroundings
    const { server, resource } = provider
    const client = await this.client(provider, scopes, listener)
    const grantee = { server, client, resource }
    const endpoint = new TokenEndpoint(grantee, fetch)
    const tokens =
      listener !== undefined
        ? await codeFlow({ grantee, endpoint, listener, scopes, options, signal })
        : options.grant === 'device_code'
          ? await deviceFlow({ grantee, endpoint, scopes, fetch, signal })
          : await endpoint.alone(scopes, signal)
    for (const registrar of registrars()) await registrar.accepted?.(client)
    const { target } = options
    const { clientKey: _, ...kept } = client
    return { format: 1, target, server, client: kept, resource, scopes, tokens, obtainedAt: Date.now() }
  }

  private async client(
    { server }: Provider,
    scopes: readonly string[],
    listener: CallbackListener | undefined,
  ): Promise<RegisteredClient> {
    const { options, fetch, registrars } = this.surroundings
    const { issuer } = server
    const redirectUris = listener === undefined ? [] : [listener.redirectUri]
    const wanted = {
      issuer,
      metadata: server,
      redirectUris,
      grantTypes: GRANTS[options.grant],
      scopes,
      fetch,
    }
    for (const registrar of registrars()) {
      const client = await registrar.register(wanted)
      if (client !== undefined) return client
    }
    throw new UpstreamError(
      'CLIENT_MISSING',
      `the issuer ${issuer} registers no clients, and none was given: a client ID of that issuer is needed`,
      { statusCode: 503, retryAfter: 30 },
    )
  }

  /** Asks the target without a credential, to hear what it says to strangers. */
  private async probe(signal: AbortSignal): Promise<Challenge> {
    const { options, fetch, log } = this.surroundings
    if (options.issuer !== undefined || options.tokenUrl !== undefined) return NO_CHALLENGE
    const end = new AbortController()
    try {
      const headers = { accept: 'application/json', 'content-type': 'application/json' }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'probe', method: 'ping' })
      const either = AbortSignal.any([signal, end.signal])
      const { status, headers: told } = await fetch(options.target, {
        method: 'POST',
        headers,
        body,
        signal: either,
      })
      const header = told.get('www-authenticate')
      return status === 401 && header !== null ? await readChallenges([header]) : NO_CHALLENGE
    } catch (error) {
      signal.throwIfAborted()
      log.debug({ err: error }, 'the target did not say how to sign in; its metadata is looked for')
      return NO_CHALLENGE
    } finally {
      end.abort()
    }
  }
}
