import type { z } from 'zod'
import { isLoopback } from './proxy-rules.js'

/** The settings that rules of more than one flag look at. */
interface Related {
  readonly host: string
  readonly port: number
  readonly oidcIssuer?: string | undefined
  readonly allowUnauthenticated: boolean
  readonly tunnelProvider: string
  readonly tunnelPublicUrl?: string | undefined
  readonly tunnelSshDestination?: string | undefined
  readonly tunnelSshPort?: number | undefined
  readonly tunnelSshIdentity?: string | undefined
  readonly tunnelSshKnownHosts?: string | undefined
  readonly tunnelSshRemoteHost?: string | undefined
  readonly tunnelSshRemotePort?: number | undefined
  readonly tunnelCommand?: string | undefined
  readonly tunnelCommandPattern?: string | undefined
  readonly tunnelOption: readonly unknown[]
}

type Complain = (setting: keyof Related, message: string) => void

/** What one flag alone cannot show to be wrong. */
export function tunnelRules(settings: Related, context: z.core.$RefinementCtx): void {
  const complain: Complain = (setting, message) =>
    context.issues.push({ code: 'custom', input: undefined, path: [setting], message, continue: true })
  const { host, oidcIssuer, allowUnauthenticated } = settings
  if (!isLoopback(host)) complain('host', 'expected a loopback host: the tunnel is the way in from outside')
  if (oidcIssuer === undefined && !allowUnauthenticated) {
    complain('oidcIssuer', 'is needed: a tunnel lets the whole internet in; or say --allow-unauthenticated')
  }
  foreign(settings, complain)
  if (settings.tunnelProvider === 'ssh' && settings.tunnelSshDestination === undefined) {
    complain('tunnelSshDestination', 'is needed with --tunnel-provider ssh: expected [user@]host')
  }
  if (settings.tunnelProvider === 'command') command(settings, complain)
}

const OF_SSH = [
  'tunnelSshDestination',
  'tunnelSshPort',
  'tunnelSshIdentity',
  'tunnelSshKnownHosts',
  'tunnelSshRemoteHost',
  'tunnelSshRemotePort',
] as const

const OF_COMMAND = ['tunnelCommand', 'tunnelCommandPattern'] as const

// Whoever wrote one of these believes that it does something.
function foreign(settings: Related, complain: Complain): void {
  const { tunnelProvider, tunnelOption } = settings
  for (const [provider, flags] of [
    ['ssh', OF_SSH],
    ['command', OF_COMMAND],
  ] as const) {
    if (tunnelProvider === provider) continue
    for (const setting of flags) {
      if (settings[setting] !== undefined) complain(setting, `is for --tunnel-provider ${provider}`)
    }
  }
  if (tunnelOption.length > 0 && (tunnelProvider === 'ssh' || tunnelProvider === 'command')) {
    complain('tunnelOption', 'is for a provider of your own: ssh and command have flags')
  }
}

function command({ tunnelCommand, port }: Related, complain: Complain): void {
  if (tunnelCommand === undefined) {
    complain(
      'tunnelCommand',
      'is needed with --tunnel-provider command, such as "cloudflared tunnel --url {url}"',
    )
    return
  }
  const words = splitWords(tunnelCommand)
  if (words === undefined) complain('tunnelCommand', 'has a quote that does not end')
  else if (port === 0 && !words.some((word) => /\{(?:host|port|url)\}/.test(word))) {
    complain(
      'tunnelCommand',
      'does not say where the proxy is: expected {url}, {port} or {host} in it, or --port',
    )
  }
}

/**
 * A command line as words: spaces part them, and single or double quotes keep together what is between them. Nothing
 * else means anything, no backslash, no dollar and no pipe. Nothing when a quote does not end.
 */
export function splitWords(text: string): string[] | undefined {
  const words = text.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []
  const rest = text.replaceAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g, '')
  if (rest.trim() !== '') return undefined
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single))
}
