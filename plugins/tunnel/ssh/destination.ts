import { isIPv6 } from 'node:net'

export interface Destination {
  readonly user?: string
  readonly host: string
}

// Neither begins with a dash, which would make it an option, and neither has a character that means something to a
// shell: a `ProxyCommand` of the user's own may hand both to one.
const USER = /^[a-z\d_][\w.+-]*$/i
const HOST = /^[a-z\d_][\w.-]*$/i

/** Reads `[user@]host`, where the host is a name, an address, or an alias of the user's ssh configuration. */
export function parseDestination(text: string): Destination | undefined {
  const at = text.lastIndexOf('@')
  const user = at < 0 ? undefined : text.slice(0, at)
  const bare = text.slice(at + 1)
  const inner = /^\[(.+)\]$/.exec(bare)?.[1]
  const host = inner ?? bare
  if (user !== undefined && !USER.test(user)) return undefined
  if (!(inner === undefined && HOST.test(host)) && !isPlainIPv6(host)) return undefined
  return { ...(user !== undefined && { user }), host }
}

// A zone would bring a percent sign, which ssh expands.
const isPlainIPv6 = (host: string): boolean => isIPv6(host) && !host.includes('%')
