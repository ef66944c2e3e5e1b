import { insecureHttpAllowed, isInsecure } from 'sallyport'

// What the URL parser would quietly repair is refused: this becomes the name that tokens and metadata speak of.
const PLAIN = /^https?:\/\/(?:[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::\d{1,5})?\/?$/i

/**
 * The origin that a URL names, or what is wrong with it as the address of the main port. It may come from a program's
 * output, so nothing about it is taken on trust.
 */
export function publicOrigin(text: string): { readonly origin: string } | { readonly fault: string } {
  if (text.length > 300 || !PLAIN.test(text) || !URL.canParse(text)) {
    return { fault: 'expected an https URL of nothing but a host, and a port where it needs one' }
  }
  const url = new URL(text)
  if (isInsecure(url) && !insecureHttpAllowed()) {
    return { fault: 'expected https: plain http is for loopback, as tokens would cross the network readable' }
  }
  return { origin: url.origin }
}
