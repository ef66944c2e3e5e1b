const PREFIX = 'sallyport-'

/** The name of a cookie of the gateway itself, by which it knows it among those of targets at the same host. */
export const ownCookie = (name: string): string => PREFIX + name

// Cookies have neither port nor path to keep them apart, and of `=x=y` browsers send `x=y`.
const OWN = new RegExp(`^[\\s=]*(?:__(?:host|secure)-)?${PREFIX}`, 'i')

/** Whether a pair of `Cookie`, or the value of a `Set-Cookie`, is such a cookie. */
export const isOwnCookie = (pair: string): boolean => OWN.test(pair)
