const PREFIX = 'sallyport-'

/** The name of a cookie of the gateway itself: its prefix separates it from cookies of targets at the same host. */
export const ownCookie = (name: string): string => PREFIX + name

// Cookies are not separated by port or path, and browsers send `=x=y` as `x=y`.
const OWN = new RegExp(`^[\\s=]*(?:__(?:host|secure)-)?${PREFIX}`, 'i')

/** Whether a pair of `Cookie`, or the value of a `Set-Cookie`, is a cookie of the gateway. */
export const isOwnCookie = (pair: string): boolean => OWN.test(pair)
