import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import type { TestContext } from 'node:test'
import { Authenticator, Credential, type Entry, type OutgoingCredential } from 'sallyport'
import { recordedLog, serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen, providing } from '#kit/plugin.js'

export interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly form: URLSearchParams
}

type Answering = (asked: Asked, response: Parameters<RequestListener>[1]) => unknown

/** A token endpoint that records its requests, and responds as the test says. */
export async function tokenEndpoint(t: TestContext, answering: Answering) {
  const asked: Asked[] = []
  const origin = await listening(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const { url: path = '', headers } = request
      const one = { path, headers, body, form: new URLSearchParams(body) }
      asked.push(one)
      answering(one, response)
    })
  })
  return { url: `${origin}/token`, origin, asked }
}

export const ISSUED = 'urn:ietf:params:oauth:token-type:access_token'

type Fields = Readonly<Record<string, unknown>>

/** A valid response with these fields changed; `undefined` removes one. */
export const granting =
  (changed: Fields | ((asked: Asked) => Fields)): Answering =>
  (asked, response) => {
    const fields = typeof changed === 'function' ? changed(asked) : changed
    const good = { access_token: 'new', issued_token_type: ISSUED, token_type: 'Bearer', expires_in: 300 }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...good, ...fields }))
  }

export const refusing =
  (status: number, fields: Fields, headers: Readonly<Record<string, string>> = {}): Answering =>
  (_asked, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(fields))

/** Accepts any bearer token as its own subject, until the time in a header. */
export const bearers: Entry = providing('bearers', Authenticator, {
  provider: 'bearers',
  authenticate: ({ credentials, headers }) => {
    if (credentials.kind !== 'bearer') return { rejection: { kind: 'notMine', cause: 'missing' } }
    // A subject is logged, and a token never is.
    const { token, digest: subject } = credentials
    const ends = headers['x-ends']
    const expiresAt = ends === undefined ? {} : { expiresAt: Number(ends) }
    return { identity: { provider: 'bearers', subject, claims: {}, token, ...expiresAt } }
  },
})

/** A credential with the tokens of the test, as of a login. */
export const loginCredential = (credential: () => OutgoingCredential | undefined): Entry =>
  providing('login', Credential, { name: 'login', present: credential })

export const exchange = (url: string, options: Fields = {}): Entry => ({
  use: 'credential/token-exchange',
  with: { url, allowPrivateIP: true, ...options },
})

/** A target that responds with the headers it got; `takes` may refuse a credential. */
export async function echo(t: TestContext, takes: (authorization?: string) => number = () => 200) {
  const seen: IncomingHttpHeaders[] = []
  const origin = await listening(t, (request, response) => {
    seen.push(request.headers)
    response.writeHead(takes(request.headers.authorization)).end(JSON.stringify(request.headers))
  })
  return { origin, seen }
}

/** A forwarder behind these entries, on a socket. */
export async function gatewayOf(t: TestContext, target: string, entries: readonly Entry[]) {
  const { log, lines, scrubber } = recordedLog()
  const running = await serving(t, [listen, ...entries, { use: 'forward/http', with: { target } }], {
    log,
    scrubber,
  })
  return { main: running.addresses.main ?? '', running, lines }
}

/** A proxy that exchanges the tokens of its callers. */
export async function exchanging(
  t: TestContext,
  answering: Answering,
  options: Fields = {},
  takes?: (authorization?: string) => number,
) {
  const endpoint = await tokenEndpoint(t, answering)
  const target = await echo(t, takes)
  const proxy = await gatewayOf(t, target.origin, [bearers, exchange(endpoint.url, options)])
  return { ...proxy, endpoint, target }
}

export const bearer = (token: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { authorization: `Bearer ${token}`, ...more },
})
