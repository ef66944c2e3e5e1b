import type { McpSubject } from '../contract/message.js'

const MAX_LENGTH = 256

/** The name of a call's subject, as logs and audits may write it: a resource's URI without query and credentials. */
export function subjectName({ kind, name }: McpSubject): string {
  return (kind === 'resource' ? plainUri(name) : name).slice(0, MAX_LENGTH)
}

/** By hand: `URL` refuses some URIs of servers, and normalizes the others. */
function plainUri(uri: string): string {
  const [, scheme = '', slashes = '', rest = ''] = /^([a-z][a-z\d+.-]*:)?([\\/]*)([^?#;]*)/i.exec(uri) ?? []
  // The rest of a `data:` URI is its content.
  if (scheme.toLowerCase() === 'data:') return scheme
  return scheme + slashes + withoutCredentials(rest)
}

function withoutCredentials(rest: string): string {
  const [authority = ''] = /^[^\\/]*/.exec(rest) ?? []
  const host = rest.slice(authority.lastIndexOf('@') + 1)
  // A password with a slash looks like a path: text before `@` with a colon that begins no port is taken for a
  // password.
  const [before = ''] = /^.*@/s.exec(host) ?? []
  return /:(?!\d{1,5}[\\/])/.test(before) ? host.slice(before.length) : host
}
