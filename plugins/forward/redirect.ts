import type { Target } from './target.js'

/**
 * The path that a `Location` means, if it lies on the target's own origin: a credential goes nowhere else. An
 * absolute URL is compared as URL makes it, since that is what any client would follow.
 */
export function sameOriginPath(
  { origin }: Target,
  from: string,
  location: string | undefined,
): string | undefined {
  if (location === undefined || !URL.canParse(location, origin + from)) return undefined
  const to = new URL(location, origin + from)
  return to.origin === origin && to.username === '' && to.password === ''
    ? to.pathname + to.search
    : undefined
}
