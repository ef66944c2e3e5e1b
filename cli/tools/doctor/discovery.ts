import type { ExaminedClient, Fetch } from 'sallyport'
import { createFetcher, insecureHttpAllowed, type JsonObject } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'
import { reach } from './connection.js'
import { fetchDocument, mcpOrder, openIdFirst, textIn } from './documents.js'

/** Follows a 401 to the metadata of the resource and to its authorization server, as an MCP client does. */
export function examineResource(
  findings: FindingList,
  resource: string,
  challenge: string | undefined,
  client?: ExaminedClient,
): Promise<void> {
  return fetching(async (fetch) => {
    const metadata = await resourceMetadata(findings, resource, challenge, fetch)
    if (metadata === undefined || !examineName(findings, resource, metadata)) return
    const servers = metadata['authorization_servers']
    const [issuer]: readonly unknown[] = Array.isArray(servers) ? servers : []
    if (typeof issuer === 'string' && URL.canParse(issuer))
      await examineServer(findings, issuer, fetch, { urls: mcpOrder(issuer), client })
    else {
      const advice = 'the owner of the resource has to name one in authorization_servers'
      findings.wrong('metadata', 'SERVER_MISSING', 'the metadata names no authorization server', advice)
    }
  })
}

/** Examines an authorization server that the operator named, with the requests of the gateway's login. */
export async function examineNamedServer(
  findings: FindingList,
  issuer: string,
  client: ExaminedClient,
): Promise<void> {
  if (!(await reach(findings, issuer, {}))) return
  const named = { ...client, namedByOperator: true }
  await fetching((fetch) =>
    examineServer(findings, issuer, fetch, { urls: openIdFirst(issuer), client: named }),
  )
}

/** Private addresses are allowed: the operator named the server or the resource. */
async function fetching(work: (fetch: Fetch) => Promise<void>): Promise<void> {
  const fetcher = createFetcher({ allowPrivate: true, allowInsecureHttp: insecureHttpAllowed() })
  try {
    await work(fetcher.fetch)
  } finally {
    await fetcher.close()
  }
}

async function resourceMetadata(
  findings: FindingList,
  resource: string,
  challenge: string | undefined,
  fetch: Fetch,
): Promise<JsonObject | undefined> {
  const { origin, pathname } = new URL(resource)
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const named = /[\s,]resource_metadata="?([^",\s]+)/i.exec(challenge ?? '')?.[1]
  const path = pathname.replace(/\/$/, '')
  const urls = named !== undefined ? [named] : path === '' ? [wellKnown] : [`${wellKnown}${path}`, wellKnown]
  const failures: string[] = []
  for (const url of urls) {
    const { status, document, failure } = await fetchDocument(fetch, url)
    if (status === 200 && document !== undefined) {
      findings.ok('metadata', `at ${url}${named === undefined ? ', which the challenge does not name' : ''}`)
      return document
    }
    failures.push(`${url} (${failure})`)
  }
  const advice =
    'clients cannot find out where to sign in; the owner of the resource has to serve its metadata (RFC 9728)'
  findings.wrong('metadata', 'METADATA_MISSING', `no metadata at ${failures.join(', nor at ')}`, advice)
  return undefined
}

/** The document may be for the resource or for a path above it on the same origin (RFC 9728, 3.3). */
function examineName(findings: FindingList, resource: string, metadata: JsonObject): boolean {
  const named = textIn(metadata, 'resource') ?? ''
  const wanted = new URL(resource)
  const above = URL.canParse(named) ? new URL(named) : undefined
  const folder = above?.pathname.replace(/\/?$/, '/')
  if (above?.origin === wanted.origin && `${wanted.pathname}/`.startsWith(folder ?? '')) return true
  const advice = 'clients refuse it; its `resource` must be the URL that callers use'
  const detail = `it describes ${JSON.stringify(named)}, and not ${resource}`
  findings.wrong('metadata', 'RESOURCE_MISMATCH', detail, advice)
  return false
}

/** The gateway as a client that will sign in there. */
interface Client extends ExaminedClient {
  /** The operator named the server: then its metadata may omit PKCE. */
  readonly namedByOperator?: boolean
}

interface Search {
  /** The possible URLs of its metadata, in the order of the requests. */
  readonly urls: readonly string[]
  readonly client?: Client | undefined
}

async function examineServer(
  findings: FindingList,
  issuer: string,
  fetch: Fetch,
  { urls, client }: Search,
): Promise<void> {
  const failures: string[] = []
  for (const url of urls) {
    const { status, document, failure } = await fetchDocument(fetch, url)
    if (status !== 200 || document === undefined) {
      failures.push(`${url} (${failure})`)
      continue
    }
    const called = textIn(document, 'issuer')
    if (called !== issuer) {
      const detail = `its metadata has the issuer ${JSON.stringify(called)}, and not ${JSON.stringify(issuer)}`
      const advice = 'clients refuse it; name it byte for byte as its metadata does'
      findings.wrong('authorization server', 'SERVER_MISMATCH', detail, advice)
      return
    }
    findings.ok('authorization server', `${issuer}, at ${url}`)
    examineFeatures(findings, document, client)
    return
  }
  const advice = 'check that it runs, and serves its metadata (RFC 8414)'
  const detail = `no metadata at ${failures.join(', nor at ')}`
  findings.wrong('authorization server', 'SERVER_FAILED', detail, advice)
}

function examineFeatures(findings: FindingList, document: JsonObject, client: Client | undefined): void {
  const methods = document['code_challenge_methods_supported']
  if (!Array.isArray(methods) || !methods.includes('S256')) {
    const detail = 'its metadata does not list S256'
    const isError = client?.redirects === true && (methods !== undefined || client.namedByOperator !== true)
    const orNamed =
      methods === undefined
        ? ', or name the server with --remote-auth-issuer if you know that it supports S256'
        : ''
    if (isError)
      findings.wrong('PKCE', 'PKCE_MISSING', detail, `the owner of the server has to turn PKCE on${orNamed}`)
    else findings.warning('PKCE', 'PKCE_UNSAID', detail, 'MCP clients may refuse to sign in there')
  } else if (client?.redirects === true) findings.ok('PKCE', 'it supports S256')
  const registers = textIn(document, 'registration_endpoint') !== undefined
  if (client?.hasClient === true) return
  if (registers && client !== undefined) findings.ok('registration', 'it registers clients dynamically')
  if (registers) return
  const detail = 'it registers no clients dynamically'
  if (client === undefined)
    findings.warning('registration', 'REGISTRATION_MISSING', detail, 'register each client there by hand')
  else {
    const advice = 'register a client there by hand, and name it with --remote-auth-client-id'
    findings.wrong('registration', 'REGISTRATION_MISSING', detail, advice)
  }
}
