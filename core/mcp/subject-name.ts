import type { McpSubject } from '../contract/message.js'

const MAX_LENGTH = 256

/** What may be written down of the name of something that is called: of a resource neither query nor credentials. */
export function subjectName({ kind, name }: McpSubject): string {
  return (kind === 'resource' ? plainUri(name) : name).slice(0, MAX_LENGTH)
}

/** By hand: `URL` refuses what servers have for URIs, and changes the rest. */
function plainUri(uri: string): string {
  const [, scheme = '', slashes = '', rest = ''] = /^([a-z][a-z\d+.-]*:)?([\\/]*)([^?#;]*)/i.exec(uri) ?? []
  // What follows is the content itself.
  if (scheme.toLowerCase() === 'data:') return scheme
  return scheme + slashes + withoutCredentials(rest)
}

function withoutCredentials(rest: string): string {
  const [authority = ''] = /^[^\\/]*/.exec(rest) ?? []
  const host = rest.slice(authority.lastIndexOf('@') + 1)
  // A password with a slash in it looks like a path: what has a colon that begins no port is taken for one.
  const [before = ''] = /^.*@/s.exec(host) ?? []
  return /:(?!\d{1,5}[\\/])/.test(before) ? host.slice(before.length) : host
}
