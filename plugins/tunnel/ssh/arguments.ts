import { parseDestination } from './destination.js'
import type { SshOptions } from './options.js'

const FIXED = [
  // One configuration serves many versions of ssh: what this one does not know is passed over, ours below too.
  'IgnoreUnknown=*',
  // Nobody is there to be asked.
  'BatchMode=yes',
  'StrictHostKeyChecking=yes',
  'VerifyHostKeyDNS=no',
  'UpdateHostKeys=no',
  'ExitOnForwardFailure=yes',
  // A server that says nothing for 45 seconds is gone.
  'ServerAliveInterval=15',
  'ServerAliveCountMax=3',
  'ConnectTimeout=15',
  // A shared connection would go on behind our back when this one ends, and so would one in the background.
  'ControlMaster=no',
  'ControlPath=none',
  'ForkAfterAuthentication=no',
  // What the configuration may turn on for people at a terminal.
  'PermitLocalCommand=no',
  'RemoteCommand=none',
  'ForwardAgent=no',
  'ForwardX11=no',
  'Tunnel=no',
  'EscapeChar=none',
  // The lines that say what became of the forward.
  'LogLevel=DEBUG1',
]

/** The arguments of ssh for a reverse forward to `local`; none of them can be taken for another. */
export function sshArguments(options: SshOptions, local: URL, remotePort: number): string[] {
  const { port, identityFile, knownHostsFile, remoteHost } = options
  const { user, host } = parseDestination(options.destination) ?? { host: '' }
  const settings = [
    ...FIXED,
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
    ...['-R', `${bracketed(remoteHost)}:${remotePort}:${connectTo(local)}`],
    ...['--', host],
  ]
}

/** The main port as ssh names it in what it prints. */
export const connectTo = ({ hostname, port }: URL): string => `${hostname}:${port}`

export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
