import { insecureHttpAllowed, isInsecure, PLAIN_HTTP_RULE } from 'sallyport/toolkit'

// What the URL parser would silently correct is refused: tokens and metadata name this URL.
const ORIGIN = /^https?:\/\/(?:[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::\d{1,5})?\/?$/i

/**
 * The origin of a URL, or why it cannot be the public address of the main port. It may come from a program's output, so
 * it is not trusted.
 */
export function publicOrigin(text: string): { readonly origin: string } | { readonly fault: string } {
  if (text.length > 300 || !ORIGIN.test(text) || !URL.canParse(text)) {
    return { fault: 'expected an https URL of nothing but a host, and a port where it needs one' }
  }
  const url = new URL(text)
  if (isInsecure(url) && !insecureHttpAllowed()) {
    return { fault: `expected https, as tokens would cross the network readable; ${PLAIN_HTTP_RULE}` }
  }
  return { origin: url.origin }
}
