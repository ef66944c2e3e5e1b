import { accessSync, constants } from 'node:fs'
import { ConfigError, childEnvironment, definePlugin, GatewayError, type OpenTunnel, Tunnel } from 'sallyport'
import { executable } from './child/executable.js'
import { opened } from './child/opening.js'
import { bracketed, sshArguments } from './ssh/arguments.js'
import { options, type SshOptions } from './ssh/options.js'
import { Session } from './ssh/session.js'

export default definePlugin({
  name: 'tunnel/ssh',
  api: 1,
  summary:
    "Opens a tunnel with the system's ssh: the server listens, and leads callers to the main port. Host keys are checked.",
  provides: [Tunnel],
  options,

  setup(gateway, given) {
    const { identityFile, knownHostsFile } = given
    const settings: SshOptions = {
      ...given,
      ...(identityFile !== undefined && { identityFile: gateway.path(identityFile) }),
      ...(knownHostsFile !== undefined && { knownHostsFile: gateway.path(knownHostsFile) }),
    }
    let ssh = ''
    gateway.onStart(() => {
      ssh = executable('ssh', 'ssh')
      for (const option of ['identityFile', 'knownHostsFile'] as const)
        refuseUnreadable(option, settings[option])
    })
    const told = new Set<string>()
    // A port that the server chose is asked for again, so that callers need no new URL.
    let remotePort = settings.remotePort
    gateway.provide(Tunnel, {
      name: `ssh ${settings.destination}`,
      key: `ssh ${JSON.stringify(settings)}`,
      async open(local, signal) {
        const session = new Session(local, remotePort, gateway.log, told)
        try {
          const environment = childEnvironment(gateway.scrubber)
          const attempt = { local, signal, session, environment }
          const open = await forwarded(ssh, { ...settings, remotePort }, attempt)
          remotePort = session.port ?? remotePort
          told.clear()
          return open
        } catch (error) {
          if (error instanceof GatewayError && error.code === 'TUNNEL_PORT') remotePort = settings.remotePort
          throw error
        }
      },
    })
  },
})

interface Attempt {
  readonly local: URL
  readonly signal: AbortSignal
  readonly session: Session
  readonly environment: NodeJS.ProcessEnv
}

function forwarded(ssh: string, settings: SshOptions, attempt: Attempt): Promise<OpenTunnel> {
  const { local, signal, session, environment } = attempt
  const { remoteHost, remotePort, publicUrl } = settings
  return opened({
    argv: [ssh, ...sshArguments(settings, local, remotePort)],
    // In its own language, as its words are read here.
    env: { ...environment, LC_ALL: 'C', SSH_ASKPASS_REQUIRE: 'never' },
    signal,
    read(line) {
      const port = session.read(line)
      return port === undefined ? undefined : (publicUrl ?? `http://${bracketed(remoteHost)}:${port}`)
    },
    failed: (how) => session.failed(how),
  })
}

function refuseUnreadable(option: string, path: string | undefined): void {
  if (path === undefined) return
  try {
    accessSync(path, constants.R_OK)
  } catch {
    throw new ConfigError([
      { place: option, message: `"${path}" cannot be read: expected a file that this user may read` },
    ])
  }
}
