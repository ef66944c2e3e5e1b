import type { Entry, List } from 'sallyport'
import { isLoopbackHost } from 'sallyport/toolkit'
import type { z } from 'zod'
import { isOpenToInternet, proxyRules } from './proxy/rules.js'
import { tunnelGroup, tunnelTable } from './proxy/table.js'
import { ownEntries as proxyEntries, proxySections } from './proxy.js'
import { addedPluginRules, withAddedPlugins } from './settings/added-plugins.js'
import { EntryMaker, spanOf } from './settings/entry.js'
import { type Needs, refuseUseless } from './settings/needs.js'
import { refuse } from './settings/refuse.js'
import { settingsSchema } from './settings/schema.js'

/** The settings of `sallyport proxy tunnel`: those of the proxy, and those of its tunnel. */
export const TunnelSettings = settingsSchema(tunnelTable, proxySections).superRefine((settings, context) => {
  proxyRules(settings, context)
  tunnelRules(settings, context)
  addedPluginRules(ownEntries(settings), settings.plugins, context)
})

export type TunnelSettings = z.output<typeof TunnelSettings>

/** The proxy, reachable from outside. */
export const tunnel = (settings: TunnelSettings): List =>
  withAddedPlugins(ownEntries(settings), settings.plugins).list

/** Puts the tunnel in the list before the entries that need its public address. */
function ownEntries(settings: TunnelSettings): Entry[] {
  const connection = { timeout: spanOf(settings.tunnelTimeout) }
  return proxyEntries(settings, [
    provider(settings),
    make.entry('tunnel/connection', settings, { with: connection }),
  ])
}

const make = new EntryMaker([tunnelGroup])

function provider(settings: TunnelSettings): Entry {
  const { tunnelProvider, tunnelPublicUrl: publicUrl } = settings
  const from = { publicUrl: 'tunnelPublicUrl' }
  if (tunnelProvider === 'ssh') return make.entry('tunnel/ssh', settings, { with: { publicUrl }, from })
  if (tunnelProvider === 'command') {
    const command = splitWords(settings.tunnelCommand ?? '')
    const origins = { ...from, command: 'tunnelCommand' }
    return make.entry('tunnel/command', settings, { with: { command, publicUrl }, from: origins })
  }
  const given = { ...Object.fromEntries(settings.tunnelOption), publicUrl }
  const own = make.entry(tunnelProvider, settings, { with: given, from: { ...from, '': 'tunnelOption' } })
  return { ...own, named: ['tunnelProvider'] }
}

const NEEDS: Needs<TunnelSettings> = {
  'tunnel-provider ssh': [({ tunnelProvider }) => tunnelProvider === 'ssh', 'is for --tunnel-provider ssh'],
  'tunnel-provider command': [
    ({ tunnelProvider }) => tunnelProvider === 'command',
    'is for --tunnel-provider command',
  ],
  'tunnel-provider of your own': [
    ({ tunnelProvider }) => tunnelProvider !== 'ssh' && tunnelProvider !== 'command',
    'is for a provider of your own: ssh and command have flags',
  ],
}

function tunnelRules(settings: TunnelSettings, context: z.core.$RefinementCtx): void {
  const complain = (setting: string, message: string) => refuse(context, [setting], message)
  const { host, tunnelProvider } = settings
  if (!isLoopbackHost(host))
    complain('host', 'expected a loopback host: the tunnel is the way in from outside')
  if (isOpenToInternet(settings)) {
    complain('oidcIssuer', 'is needed: a tunnel lets the whole internet in; or say --allow-unauthenticated')
  }
  refuseUseless([tunnelGroup], settings, NEEDS, complain)
  if (tunnelProvider === 'command') command(settings, complain)
}

function command(
  { tunnelCommand, port }: TunnelSettings,
  complain: (setting: string, message: string) => void,
): void {
  const wrong = (message: string) => complain('tunnelCommand', message)
  const words = splitWords(tunnelCommand ?? '')
  // An empty command is reported by the plugin.
  if (words === undefined) wrong('has a quote that does not end')
  else if (port === 0 && words.length > 0 && !words.some((word) => /\{(?:host|port|url)\}/.test(word)))
    wrong('does not name the address of the proxy: expected {url}, {port} or {host} in it, or --port')
}

/**
 * Splits a command line into words at spaces; single or double quotes keep spaces. No other character is special: no
 * backslash, no dollar and no pipe. Returns undefined when a quote does not end.
 */
function splitWords(text: string): string[] | undefined {
  const words = text.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []
  const rest = text.replaceAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g, '')
  if (rest.trim() !== '') return undefined
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single))
}
