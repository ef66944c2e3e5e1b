import { GatewayError } from 'sallyport'

const OTHER_KEY =
  'the server shows another host key than the one that is known: find out why before you replace it, as somebody may intercept the connection'
const REVOKED_KEY =
  'the server shows a host key that is marked as revoked: find out why before you connect, as somebody may use a stolen key'
const UNTRUSTED_KEY =
  'a host on the way, such as a jump host, has a key that is not known: add it to known_hosts after you have compared it'
const PORT =
  'the server refuses to listen on that port: it is taken there, or AllowTcpForwarding and PermitListen do not allow it; --tunnel-ssh-remote-port chooses another'

const unknownKey = (line: string): string =>
  `${line.replace(/ and you have requested strict checking$/, '')}: add the key to known_hosts after you have compared it with the server's own, or give --tunnel-ssh-known-hosts`
const login = (line: string): string =>
  `${line}: give a key that the server takes with --tunnel-ssh-identity, or load it into the agent; ssh cannot ask for a passphrase here`
const unreachable = (line: string): string => `${line}: check the destination, its port, and firewalls`

const REASONS: readonly (readonly [RegExp, string, (line: string) => string])[] = [
  [/^No \S+ host key is known for |^No host key is known/i, 'TUNNEL_HOST_KEY', unknownKey],
  [/REVOKED HOST KEY DETECTED/, 'TUNNEL_HOST_KEY', () => REVOKED_KEY],
  [/REMOTE HOST IDENTIFICATION HAS CHANGED|^Host key for .* has changed/, 'TUNNEL_HOST_KEY', () => OTHER_KEY],
  // ssh prints this line also after those above; alone, when a jump host has an unknown key.
  [/^Host key verification failed/, 'TUNNEL_HOST_KEY', () => UNTRUSTED_KEY],
  [
    /: Permission denied \(|^Too many authentication failures|^Received disconnect .* Too many/,
    'TUNNEL_LOGIN',
    login,
  ],
  [/remote port forwarding failed for listen p/, 'TUNNEL_PORT', () => PORT],
  [
    /^ssh: Could not resolve hostname |^ssh: connect to host |^kex_exchange_identification: |^Connection to \S+ port \d+ timed out/,
    'TUNNEL_UNREACHABLE',
    unreachable,
  ],
]

/** The error for a line in which ssh says why it fails; undefined for other lines. */
export function reasonIn(printed: string): GatewayError | undefined {
  const line = printed.replace(/\.$/, '')
  const [, code, message] = REASONS.find(([pattern]) => pattern.test(line)) ?? []
  return code === undefined || message === undefined ? undefined : new GatewayError(code, message(line))
}
