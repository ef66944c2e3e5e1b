import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from 'sallyport'
import { type Html, html } from 'sallyport/toolkit'
import { z } from 'zod'

/** The instructions of a page for getting a token. */
export interface Access {
  /** Scheme, host and path of the gateway as clients know it. */
  readonly base: string
  readonly metadataPath: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[]
}

const metadata = z.object({
  resource: z.url({ protocol: /^https?$/ }),
  authorization_servers: z.array(z.string()).catch([]),
  scopes_supported: z.array(z.string()).catch([]),
})

/** Reads the instructions from the protected-resource metadata (RFC 9728), which has the configured address. */
export async function accessOf(gateway: Gateway, request: FastifyRequest): Promise<Access> {
  const { scope } = gateway
  const path = `/.well-known/oauth-protected-resource${scope}`
  // The `Host` of the request, which the guards have already checked.
  const { host } = request.headers
  const response = await gateway.dispatch({ url: path, ...(host !== undefined && { headers: { host } }) })
  const found = response.statusCode === 200 ? metadata.safeParse(response.json()) : undefined
  const { authorization_servers: issuers = [], scopes_supported: scopes = [] } = found?.data ?? {}
  const own = found?.data?.resource ?? `${request.protocol}://${request.host}`
  const origin = URL.canParse(own) ? new URL(own).origin : ''
  return { base: origin + scope, metadataPath: path, issuers, scopes }
}

export const accessView = ({ base, metadataPath, issuers, scopes }: Access, registry = 'NAME'): Html => {
  // The caller chose the name, which stands between quotes of a shell and of YAML.
  const url = `${base}/registry/${encodeURIComponent(registry).replaceAll("'", '%27')}`
  return html`<section class="hint">
<h2>Access for programs</h2>
<p>This registry needs an access token. Programs send it with each request.</p>
<h3>1. Get a token</h3>
<p>MCP clients find out where from the <a href="${metadataPath}">metadata of this resource</a>.
${issuers.length > 0 && html`Tokens are issued by ${issuers.map((issuer, at) => html`${at > 0 ? ', ' : ''}<code>${issuer}</code>`)}.`}
For a program that has a client ID and a secret there:</p>
<pre><code>curl -d grant_type=client_credentials -d client_id=ID -d client_secret=SECRET${scopes.length > 0 ? ` -d 'scope=${scopes.join(' ')}'` : ''} TOKEN_ENDPOINT</code></pre>
${
  issuers.length > 0 &&
  html`<p>The endpoint is the <code>token_endpoint</code> in <code>${(issuers[0] ?? '').replace(/\/$/, '')}/.well-known/openid-configuration</code>.</p>`
}
<h3>2. Send it</h3>
<pre><code>curl -H 'Authorization: Bearer TOKEN' '${url}/v0.1/servers'</code></pre>
<h3>3. Or configure a client</h3>
<p>A client of the registry API has the base URL <code>${url}</code>. Another Sallyport reads it as a source:</p>
<pre><code>sources:
  - name: far
    http: { url: '${url}', bearerTokenFile: ./token }</code></pre>
</section>`
}

/** Whether a browser requests a page, and not a program that accepts any type. */
export const wantsHtml = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.split(',').some((type) => /^\s*text\/html\s*(?:;(?!\s*q=0(?:\.0+)?\s*$)|$)/i.test(type)) ===
  true

const errorBody = z.object({ error: z.string(), error_description: z.string(), request_id: z.string() })

export type ErrorBody = z.output<typeof errorBody>

/** The error code and message in a JSON body of the gateway. */
export function errorIn(reply: FastifyReply, payload: unknown): ErrorBody | undefined {
  if (typeof payload !== 'string') return undefined
  if (!String(reply.getHeader('content-type')).startsWith('application/json')) return undefined
  try {
    return errorBody.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}

interface ErrorContext {
  readonly access: Access | undefined
  readonly registry: string | undefined
  /** The path at which a person signs in. */
  readonly signIn: Html | undefined
}

export function titleOf(status: number, hasSignIn: boolean): string {
  if (status !== 401) return 'That did not work'
  return hasSignIn ? 'You are not signed in' : 'A token is needed'
}

export const errorView = (
  status: number,
  error: ErrorBody,
  { access, registry, signIn }: ErrorContext,
): Html => html`<h1>${titleOf(status, signIn !== undefined)}</h1>
<p>${signIn !== undefined && error.error === 'unauthorized' ? 'This page is for people who sign in' : error.error_description}.</p>
${signIn !== undefined && html`<p>${signIn}</p>`}
${access !== undefined && accessView(access, registry)}
<p class="quiet">Status ${status}, <code>${error.error}</code>, request ${error.request_id}</p>`
