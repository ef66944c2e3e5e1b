const LONGEST = 1_000

/**
 * Where a person goes after signing in: a path of this gateway with its query, else the home page. The result is
 * written as a browser would read it, so that nothing in it is read in another way later.
 */
export function returnAddress(asked: unknown, origin: string, scope: string): string {
  const home = `${scope}/`
  // Printable ASCII without a backslash, which browsers take for a slash. Everything else is escaped in a URL anyway.
  if (typeof asked !== 'string' || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(asked)) return home
  if (asked.length > LONGEST || !URL.canParse(asked, origin)) return home
  const { origin: named, pathname, search } = new URL(asked, origin)
  // `/.//evil` is resolved to `//evil`.
  const isOwn = named === origin && !pathname.startsWith('//') && pathname.startsWith(home)
  return isOwn && !CIRCLES.test(pathname.slice(scope.length)) ? pathname + search : home
}

// The pages of signing in themselves, also with an escape in their name.
const CIRCLES = /^\/(?:sign-in|sign-out|signed-out|[^/]*%[^/]*)(?:\/|$)/
