import { isIPv6 } from 'node:net'

export interface Destination {
  readonly user?: string
  readonly host: string
}

// Neither begins with a dash, which would make it an option. Neither has a character that a shell interprets: the
// user's `ProxyCommand` may pass both to a shell.
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

// Without a zone, whose percent sign ssh would expand.
const isPlainIPv6 = (host: string): boolean => isIPv6(host) && !host.includes('%')
