import { type Fetch, UpstreamError } from 'sallyport'
import { z } from 'zod'

export type JsonDocument = Readonly<Record<string, unknown>>

const document = z.record(z.string(), z.unknown())

/** The JSON object at a URL; nothing when there is none, as many servers answer any path with a page. */
export async function readDocument(url: string, fetch: Fetch): Promise<JsonDocument | undefined> {
  if (!URL.canParse(url))
    throw new UpstreamError('METADATA_URL_INVALID', 'the target names a metadata URL that is none')
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  if (response.status >= 500) {
    throw new UpstreamError(
      'METADATA_UNAVAILABLE',
      `${new URL(url).origin} answers ${response.status} for its metadata`,
      {
        statusCode: 503,
        retryAfter: 5,
      },
    )
  }
  if (response.status !== 200) return undefined
  try {
    return document.parse(JSON.parse(await response.text()))
  } catch {
    return undefined
  }
}

export const textIn = (from: JsonDocument, name: string): string | undefined => {
  const value = from[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export const textsIn = (from: JsonDocument, name: string): readonly string[] | undefined => {
  const value = from[name]
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined
}
