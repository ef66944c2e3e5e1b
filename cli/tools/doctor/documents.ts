import type { DocumentResponse, Fetch } from 'sallyport'
import { type JsonObject, jsonObject, messageOf } from 'sallyport/toolkit'

export async function fetchDocument(
  fetch: Fetch,
  url: string,
  init: RequestInit = {},
): Promise<DocumentResponse> {
  try {
    const requested = new Headers(init.headers)
    if (!requested.has('accept')) requested.set('accept', 'application/json')
    const response = await fetch(url, { ...init, headers: requested })
    const { status, headers } = response
    const parsed = Date.parse(headers.get('date') ?? '')
    const date = Number.isNaN(parsed) ? undefined : parsed
    const document = jsonObject(await response.text())
    const failure = status === 200 ? 'the response is no JSON object' : `status ${status}`
    return { status, document, failure, date }
  } catch (error) {
    return { status: undefined, document: undefined, failure: messageOf(error), date: undefined }
  }
}

export const textIn = (document: JsonObject, key: string): string | undefined => {
  const value = document[key]
  return typeof value === 'string' ? value : undefined
}

/** The metadata of an issuer, from the first of two URLs that has it. No response from the first URL is final. */
export async function askIssuer(fetch: Fetch, issuer: string): Promise<DocumentResponse> {
  const [first = '', second = ''] = openIdFirst(issuer)
  const found = await fetchDocument(fetch, first)
  return found.status === 200 || found.status === undefined ? found : fetchDocument(fetch, second)
}

/** The possible URLs of an issuer's metadata: OpenID Connect first, then RFC 8414. */
export function openIdFirst(issuer: string): readonly string[] {
  const { origin, path } = urlParts(issuer)
  return [
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

/** The same URLs in the order of an MCP client. */
export function mcpOrder(issuer: string): readonly string[] {
  const { origin, path } = urlParts(issuer)
  const inserted = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

function urlParts(issuer: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = new URL(issuer)
  return { origin, path: pathname.replace(/\/$/, '') }
}
