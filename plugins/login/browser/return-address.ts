import type { FastifyRequest } from 'fastify'

const LONGEST = 1_000

/**
 * The page after the sign-in: a path of this gateway with its query, else the home page. The result is in the form to
 * which a browser normalizes it, so that a browser cannot read it in another way later.
 */
export function returnAddress(asked: unknown, origin: string, scope: string): string {
  const home = `${scope}/`
  // Printable ASCII without a backslash, which browsers read as a slash. Other characters are escaped in a URL anyway.
  if (typeof asked !== 'string' || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(asked)) return home
  if (asked.length > LONGEST || !URL.canParse(asked, origin)) return home
  const { origin: named, pathname, search } = new URL(asked, origin)
  // `/.//evil` is resolved to `//evil`.
  const isOwn = named === origin && !pathname.startsWith('//') && pathname.startsWith(home)
  return isOwn && !CIRCLES.test(pathname.slice(scope.length)) ? pathname + search : home
}

// The sign-in pages themselves, also with an escape in their name.
const CIRCLES = /^\/(?:sign-in|sign-out|signed-out|oauth|[^/]*%[^/]*)(?:\/|$)/

/** Whether a page of this gateway sent the form. Browsers without `Sec-Fetch-Site` send `Origin`; other programs may send neither. */
export function isOwnPage({ headers }: Pick<FastifyRequest, 'headers'>, origin: string): boolean {
  const site = headers['sec-fetch-site']
  return site === undefined ? headers.origin === origin : site === 'same-origin'
}
