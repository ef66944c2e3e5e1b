import { accessSync, constants } from 'node:fs'
import { ConfigError, definePlugin, GatewayError, Tunnel } from 'sallyport'
import { childEnvironment, formatHostPort } from 'sallyport/toolkit'
import { findExecutable } from './child/executable.js'
import { openTunnel } from './child/opening.js'
import { sshArguments } from './ssh/arguments.js'
import { options, type SshOptions } from './ssh/options.js'
import { SshSession } from './ssh/session.js'

export default definePlugin({
  name: 'tunnel/ssh',
  api: 1,
  summary:
    "Opens a tunnel with the system's ssh: the server listens, and forwards connections to the main port. Host keys are checked.",
  provides: [Tunnel],
  options,

  setup(gateway, rawOptions) {
    const { identityFile, knownHostsFile, remoteHost, publicUrl } = rawOptions
    const settings: SshOptions = {
      ...rawOptions,
      ...(identityFile !== undefined && { identityFile: gateway.path(identityFile) }),
      ...(knownHostsFile !== undefined && { knownHostsFile: gateway.path(knownHostsFile) }),
    }
    let ssh = ''
    gateway.onStart(() => {
      ssh = findExecutable('ssh', 'ssh')
      for (const option of ['identityFile', 'knownHostsFile'] as const)
        refuseUnreadable(option, settings[option])
    })
    const loggedLines = new Set<string>()
    // A reconnect requests the port that the server chose, so that the URL stays the same.
    let remotePort = settings.remotePort
    gateway.provide(Tunnel, {
      name: `ssh ${settings.destination}`,
      key: `ssh ${JSON.stringify(settings)}`,
      async open(local, signal) {
        const session = new SshSession(local, remotePort, gateway.log, loggedLines)
        try {
          const open = await openTunnel({
            argv: [ssh, ...sshArguments(settings, local, remotePort)],
            // `LC_ALL=C`: the plugin parses the untranslated output.
            env: { ...childEnvironment(gateway.scrubber), LC_ALL: 'C', SSH_ASKPASS_REQUIRE: 'never' },
            signal,
            read(line) {
              const port = session.read(line)
              return port === undefined
                ? undefined
                : (publicUrl ?? `http://${formatHostPort({ host: remoteHost, port })}`)
            },
            failed: (how) => session.failed(how),
          })
          remotePort = session.port ?? remotePort
          loggedLines.clear()
          return open
        } catch (error) {
          if (error instanceof GatewayError && error.code === 'TUNNEL_PORT') remotePort = settings.remotePort
          throw error
        }
      },
    })
  },
})

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
