import type { DocumentResponse, Fetch } from 'sallyport'
import { type JsonObject, jsonObject, messageOf } from 'sallyport/toolkit'

export async function askFor(fetch: Fetch, url: string, init: RequestInit = {}): Promise<DocumentResponse> {
  try {
    const asked = new Headers(init.headers)
    if (!asked.has('accept')) asked.set('accept', 'application/json')
    const response = await fetch(url, { ...init, headers: asked })
    const { status, headers } = response
    const said = Date.parse(headers.get('date') ?? '')
    const date = Number.isNaN(said) ? undefined : said
    const document = jsonObject(await response.text())
    const failure = status === 200 ? 'it is no JSON object' : `status ${status}`
    return { status, document, failure, date }
  } catch (error) {
    return { status: undefined, document: undefined, failure: messageOf(error), date: undefined }
  }
}

export const textIn = (document: JsonObject, key: string): string | undefined => {
  const value = document[key]
  return typeof value === 'string' ? value : undefined
}

/** The metadata of an issuer, from the first place that has it; the second is not asked when nobody answers at the first. */
export async function askIssuer(fetch: Fetch, issuer: string): Promise<DocumentResponse> {
  const [first = '', second = ''] = openIdFirst(issuer)
  const found = await askFor(fetch, first)
  return found.status === 200 || found.status === undefined ? found : askFor(fetch, second)
}

/** Where the metadata of an issuer may be, in the order of OpenID Connect, then RFC 8414. */
export function openIdFirst(issuer: string): readonly string[] {
  const { origin, path } = placeOf(issuer)
  return [
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

/** The same in the order in which an MCP client asks. */
export function mcpOrder(issuer: string): readonly string[] {
  const { origin, path } = placeOf(issuer)
  const inserted = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ]
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

function placeOf(issuer: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = new URL(issuer)
  return { origin, path: pathname.replace(/\/$/, '') }
}
