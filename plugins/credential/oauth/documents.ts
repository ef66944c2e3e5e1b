import { type Fetch, UpstreamError } from 'sallyport'
import { type JsonObject, jsonObject } from 'sallyport/toolkit'

/** The JSON object at a URL; `undefined` when there is none, since many servers respond to any path with a page. */
export async function readDocument(url: string, fetch: Fetch): Promise<JsonObject | undefined> {
  if (!URL.canParse(url))
    throw new UpstreamError('METADATA_URL_INVALID', 'the metadata URL of the target is not a URL')
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  if (response.status >= 500) {
    throw new UpstreamError(
      'METADATA_UNAVAILABLE',
      `the metadata at ${new URL(url).origin} failed: status ${response.status}`,
      { statusCode: 503, retryAfter: 5 },
    )
  }
  return response.status === 200 ? jsonObject(await response.text()) : undefined
}

export const textIn = (from: JsonObject, name: string): string | undefined => {
  const value = from[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export const textsIn = (from: JsonObject, name: string): readonly string[] | undefined => {
  const value = from[name]
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined
}
