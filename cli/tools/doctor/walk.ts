import type { ExaminedClient, Fetch } from 'sallyport'
import { createFetcher, insecureHttpAllowed, type JsonObject } from 'sallyport/toolkit'
import type { FindingList } from '../findings/finding-list.js'
import { reach } from './connection.js'
import { askFor, mcpOrder, openIdFirst, textIn } from './documents.js'

/** From a 401 to the metadata of the resource and on to its authorization server, as an MCP client goes. */
export function examineResource(
  chart: FindingList,
  resource: string,
  challenge: string | undefined,
  client?: ExaminedClient,
): Promise<void> {
  return fetching(async (fetch) => {
    const metadata = await resourceMetadata(chart, resource, challenge, fetch)
    if (metadata === undefined || !examineName(chart, resource, metadata)) return
    const servers = metadata['authorization_servers']
    const [issuer]: readonly unknown[] = Array.isArray(servers) ? servers : []
    if (typeof issuer === 'string' && URL.canParse(issuer))
      await examineServer(chart, issuer, fetch, { places: mcpOrder(issuer), client })
    else {
      const advice = 'its owner has to name one in authorization_servers'
      chart.wrong('metadata', 'SERVER_MISSING', 'it names no authorization server', advice)
    }
  })
}

/** An authorization server that the operator named, as a login of the gateway asks it. */
export async function examineNamedServer(
  chart: FindingList,
  issuer: string,
  client: ExaminedClient,
): Promise<void> {
  if (!(await reach(chart, issuer, {}))) return
  const named = { ...client, vouched: true }
  await fetching((fetch) =>
    examineServer(chart, issuer, fetch, { places: openIdFirst(issuer), client: named }),
  )
}

/** The operator named the server or the resource, so it may be inside, and so may what it names. */
async function fetching(work: (fetch: Fetch) => Promise<void>): Promise<void> {
  const fetcher = createFetcher({ allowPrivate: true, allowInsecureHttp: insecureHttpAllowed() })
  try {
    await work(fetcher.fetch)
  } finally {
    await fetcher.close()
  }
}

async function resourceMetadata(
  chart: FindingList,
  resource: string,
  challenge: string | undefined,
  fetch: Fetch,
): Promise<JsonObject | undefined> {
  const { origin, pathname } = new URL(resource)
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const named = /[\s,]resource_metadata="?([^",\s]+)/i.exec(challenge ?? '')?.[1]
  const path = pathname.replace(/\/$/, '')
  const places =
    named !== undefined ? [named] : path === '' ? [wellKnown] : [`${wellKnown}${path}`, wellKnown]
  const failures: string[] = []
  for (const place of places) {
    const { status, document, failure } = await askFor(fetch, place)
    if (status === 200 && document !== undefined) {
      chart.ok('metadata', `at ${place}${named === undefined ? ', which the challenge does not name' : ''}`)
      return document
    }
    failures.push(`${place} (${failure})`)
  }
  const advice = 'clients cannot find out where to sign in; its owner has to serve it (RFC 9728)'
  chart.wrong('metadata', 'METADATA_MISSING', `no metadata at ${failures.join(', nor at ')}`, advice)
  return undefined
}

/** The document may be for the resource or for a path above it on the same origin (RFC 9728, 3.3). */
function examineName(chart: FindingList, resource: string, metadata: JsonObject): boolean {
  const named = textIn(metadata, 'resource') ?? ''
  const wanted = new URL(resource)
  const above = URL.canParse(named) ? new URL(named) : undefined
  const folder = above?.pathname.replace(/\/?$/, '/')
  if (above?.origin === wanted.origin && `${wanted.pathname}/`.startsWith(folder ?? '')) return true
  const advice = 'clients refuse it; the two must be the same as callers write it'
  const detail = `it is about ${JSON.stringify(named)}, and ${resource} was asked`
  chart.wrong('metadata', 'RESOURCE_MISMATCH', detail, advice)
  return false
}

/** Who will sign in there, when it is the gateway itself. */
interface Client extends ExaminedClient {
  /** The operator named the server: then it may keep silent about PKCE. */
  readonly vouched?: boolean
}

interface Search {
  /** Where its metadata may be, in the order in which they are asked. */
  readonly places: readonly string[]
  readonly client?: Client | undefined
}

async function examineServer(
  chart: FindingList,
  issuer: string,
  fetch: Fetch,
  { places, client }: Search,
): Promise<void> {
  const failures: string[] = []
  for (const place of places) {
    const { status, document, failure } = await askFor(fetch, place)
    if (status !== 200 || document === undefined) {
      failures.push(`${place} (${failure})`)
      continue
    }
    const called = textIn(document, 'issuer')
    if (called !== issuer) {
      const detail = `it calls itself ${JSON.stringify(called)}, and is named ${JSON.stringify(issuer)}`
      const advice = 'clients refuse it; it must be named as it calls itself, byte for byte'
      chart.wrong('authorization server', 'SERVER_MISMATCH', detail, advice)
      return
    }
    chart.ok('authorization server', `${issuer}, at ${place}`)
    examinePowers(chart, document, client)
    return
  }
  const advice = 'check that it runs, and serves its metadata (RFC 8414)'
  const detail = `no metadata at ${failures.join(', nor at ')}`
  chart.wrong('authorization server', 'SERVER_FAILED', detail, advice)
}

function examinePowers(chart: FindingList, document: JsonObject, client: Client | undefined): void {
  const methods = document['code_challenge_methods_supported']
  if (!Array.isArray(methods) || !methods.includes('S256')) {
    const detail = 'it does not say that it knows S256'
    const lost = client?.redirects === true && (methods !== undefined || client.vouched !== true)
    const vouching =
      methods === undefined ? ', or name it with --remote-auth-issuer if you know that it does' : ''
    if (lost) chart.wrong('PKCE', 'PKCE_MISSING', detail, `its owner has to turn PKCE on${vouching}`)
    else chart.warning('PKCE', 'PKCE_UNSAID', detail, 'MCP clients may refuse to sign in there')
  } else if (client?.redirects === true) chart.ok('PKCE', 'it knows S256')
  const registers = textIn(document, 'registration_endpoint') !== undefined
  if (client?.hasClient === true) return
  if (registers && client !== undefined) chart.ok('registration', 'it registers clients by itself')
  if (registers) return
  const detail = 'it registers no clients by itself'
  if (client === undefined)
    chart.warning('registration', 'REGISTRATION_MISSING', detail, 'give clients an ID of their own')
  else {
    const advice = 'register a client there by hand, and give it with --remote-auth-client-id'
    chart.wrong('registration', 'REGISTRATION_MISSING', detail, advice)
  }
}
