import type { Entry, List } from 'sallyport'
import { z } from 'zod'
import { given, ProxySettings, proxy } from './proxy.js'
import { splitWords, tunnelRules } from './tunnel-rules.js'

const text = z.string().min(1)
const port = z.int().min(0).max(65_535)

/** What `sallyport proxy tunnel` was told: the settings of the proxy, and those of its tunnel. */
export const TunnelSettings = ProxySettings.safeExtend({
  tunnelProvider: text.describe(
    '`ssh`, `command`, or the plugin of another kind of tunnel: a package, or a path',
  ),
  tunnelPublicUrl: text.optional().describe('the https URL by which callers outside know the proxy'),
  tunnelTimeout: z.int().positive().optional().describe('milliseconds until the public URL has to be known'),
  tunnelSshDestination: text.optional().describe('`[user@]host` of the ssh server'),
  tunnelSshPort: port.optional().describe('its port'),
  tunnelSshIdentity: text.optional().describe('file of the private key'),
  tunnelSshKnownHosts: text.optional().describe('file of the host keys that are trusted'),
  tunnelSshRemoteHost: text.optional().describe('where the server is to listen'),
  tunnelSshRemotePort: port.optional().describe('port on which the server is to listen; 0 lets it choose'),
  tunnelCommand: text.optional().describe('the program that opens the tunnel, with its arguments'),
  tunnelCommandPattern: text
    .optional()
    .describe('regular expression that finds the public URL in what it prints'),
  tunnelOption: z
    .array(z.tuple([text, z.string()]))
    .default([])
    .describe('options of another kind of tunnel'),
}).superRefine(tunnelRules)

export type TunnelSettings = z.output<typeof TunnelSettings>

/** The proxy, reachable from outside. The tunnel stands before those who have to know the address that it brings. */
export function tunnel(settings: TunnelSettings): List {
  const { tunnelTimeout } = settings
  const timeout = tunnelTimeout === undefined ? {} : { timeout: `${tunnelTimeout}ms` }
  return proxy(settings, [
    provider(settings),
    { use: 'tunnel/keeper', with: timeout, origin: { timeout: ['tunnelTimeout'] } },
  ])
}

function provider(settings: TunnelSettings): Entry {
  const { tunnelProvider, tunnelPublicUrl: publicUrl } = settings
  if (tunnelProvider === 'ssh') {
    return {
      use: 'tunnel/ssh',
      with: given({
        destination: settings.tunnelSshDestination,
        port: settings.tunnelSshPort,
        identityFile: settings.tunnelSshIdentity,
        knownHostsFile: settings.tunnelSshKnownHosts,
        remoteHost: settings.tunnelSshRemoteHost,
        remotePort: settings.tunnelSshRemotePort,
        publicUrl,
      }),
      origin: SSH_ORIGIN,
    }
  }
  if (tunnelProvider === 'command') {
    const command = splitWords(settings.tunnelCommand ?? '')
    return {
      use: 'tunnel/command',
      with: given({ command, pattern: settings.tunnelCommandPattern, publicUrl }),
      origin: COMMAND_ORIGIN,
    }
  }
  const options = Object.fromEntries(settings.tunnelOption)
  return {
    use: tunnelProvider,
    with: { ...options, ...given({ publicUrl }) },
    origin: { '': ['tunnelOption'], publicUrl: ['tunnelPublicUrl'] },
  }
}

const SSH_ORIGIN: Entry['origin'] = {
  destination: ['tunnelSshDestination'],
  port: ['tunnelSshPort'],
  identityFile: ['tunnelSshIdentity'],
  knownHostsFile: ['tunnelSshKnownHosts'],
  remoteHost: ['tunnelSshRemoteHost'],
  remotePort: ['tunnelSshRemotePort'],
  publicUrl: ['tunnelPublicUrl'],
}

const COMMAND_ORIGIN: Entry['origin'] = {
  command: ['tunnelCommand'],
  pattern: ['tunnelCommandPattern'],
  publicUrl: ['tunnelPublicUrl'],
}
