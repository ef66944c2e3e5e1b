import { insecureHttpAllowed, isInsecure, PLAIN_HTTP_RULE } from 'sallyport/toolkit'

// Stricter than the URL parser, which silently corrects some texts: tokens and metadata contain this URL.
const ORIGIN = /^https?:\/\/(?:[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::\d{1,5})?\/?$/i

/**
 * The origin of a URL, or why it cannot be the public address of the main port. The text is not trusted: it may come
 * from a program's output.
 */
export function publicOrigin(text: string): { readonly origin: string } | { readonly fault: string } {
  if (text.length > 300 || !ORIGIN.test(text) || !URL.canParse(text)) {
    return { fault: 'expected an https URL with only a host, and a port if needed' }
  }
  const url = new URL(text)
  if (isInsecure(url) && !insecureHttpAllowed()) {
    return { fault: `expected https, since tokens would cross the network in plain text; ${PLAIN_HTTP_RULE}` }
  }
  return { origin: url.origin }
}
