import { formatHostPort, portOf } from 'sallyport/toolkit'
import { parseDestination } from './destination.js'
import type { SshOptions } from './options.js'

const FIXED_SETTINGS = [
  // ssh ignores options that its version does not know: in the user's configuration, and below.
  'IgnoreUnknown=*',
  // Never prompt.
  'BatchMode=yes',
  'StrictHostKeyChecking=yes',
  'VerifyHostKeyDNS=no',
  'UpdateHostKeys=no',
  'ExitOnForwardFailure=yes',
  // Otherwise the user's configuration could clear the forward of the tunnel.
  'ClearAllForwardings=no',
  // A server that is silent for 45 seconds is lost.
  'ServerAliveInterval=15',
  'ServerAliveCountMax=3',
  'ConnectTimeout=15',
  // A shared connection, or one in the background, would outlive this process.
  'ControlMaster=no',
  'ControlPath=none',
  'ForkAfterAuthentication=no',
  // For interactive use; the user's configuration may turn these on.
  'PermitLocalCommand=no',
  'RemoteCommand=none',
  'ForwardAgent=no',
  'ForwardX11=no',
  'Tunnel=no',
  'EscapeChar=none',
  // At this level ssh prints whether the forward succeeded.
  'LogLevel=DEBUG1',
]

/** The arguments of ssh for a reverse forward to `local`. ssh cannot take a value for an option. */
export function sshArguments(options: SshOptions, local: URL, remotePort: number): string[] {
  const { port, identityFile, knownHostsFile, remoteHost } = options
  const { user, host } = parseDestination(options.destination) ?? { host: '' }
  const settings = [
    ...FIXED_SETTINGS,
    ...(knownHostsFile === undefined
      ? []
      : [
          `UserKnownHostsFile="${knownHostsFile}"`,
          'GlobalKnownHostsFile=/dev/null',
          'KnownHostsCommand=none',
        ]),
    ...(identityFile === undefined ? [] : [`IdentityFile="${identityFile}"`, 'IdentitiesOnly=yes']),
  ]
  return [
    ...['-N', '-T'],
    ...settings.flatMap((setting) => ['-o', setting]),
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...(user === undefined ? [] : ['-l', user]),
    ...['-R', `${formatHostPort({ host: remoteHost, port: remotePort })}:${local.hostname}:${portOf(local)}`],
    ...['--', host],
  ]
}

/** The main port as ssh prints it: without the brackets that its arguments need around IPv6. */
export const printedTarget = (local: URL): string =>
  `${local.hostname.replace(/^\[(.*)\]$/, '$1')}:${portOf(local)}`
