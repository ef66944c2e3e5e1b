import { GatewayError } from 'sallyport'

/** The error for a line in which ssh says why it fails; undefined for other lines. */
export function reasonIn(printed: string): GatewayError | undefined {
  const line = printed.replace(/\.$/, '')
  if (/^No \S+ host key is known for |^No host key is known/i.test(line)) {
    return new GatewayError(
      'TUNNEL_HOST_KEY',
      `${line.replace(/ and you have requested strict checking$/, '')}: add the key to known_hosts after you have compared it with the server's own, or give --tunnel-ssh-known-hosts`,
    )
  }
  if (
    /REMOTE HOST IDENTIFICATION HAS CHANGED|^Host key for .* has changed|^Host key verification failed/.test(
      line,
    )
  ) {
    return new GatewayError(
      'TUNNEL_HOST_KEY',
      'the server shows another host key than the one that is known: find out why before you replace it, as somebody may intercept the connection',
    )
  }
  if (
    /: Permission denied \(|^Too many authentication failures|^Received disconnect .* Too many/.test(line)
  ) {
    return new GatewayError(
      'TUNNEL_LOGIN',
      `${line}: give a key that the server takes with --tunnel-ssh-identity, or load it into the agent; nobody can be asked for a passphrase`,
    )
  }
  if (/remote port forwarding failed for listen p/.test(line)) {
    return new GatewayError(
      'TUNNEL_PORT',
      'the server refuses to listen on that port: it is taken there, or AllowTcpForwarding and PermitListen do not allow it; --tunnel-ssh-remote-port chooses another',
    )
  }
  if (/^ssh: Could not resolve hostname |^ssh: connect to host |^kex_exchange_identification: /.test(line)) {
    return new GatewayError('TUNNEL_UNREACHABLE', `${line}: check the destination, its port, and firewalls`)
  }
  return undefined
}
