import type { Entry, List } from 'sallyport'
import type { z } from 'zod'
import { proxyRules } from './proxy/rules.js'
import { proxyTable } from './proxy/table.js'
import { forwarder, outgoing, proxySections } from './proxy.js'
import { addedPluginRules, withAddedPlugins } from './settings/added-plugins.js'
import { refuse } from './settings/refuse.js'
import { settingsSchema } from './settings/schema.js'

/** The settings of `sallyport proxy stdio`: those of the proxy without those of a port. */
export const StdioSettings = settingsSchema(proxyTable, proxySections).superRefine((settings, context) => {
  proxyRules(settings, context)
  for (const setting of NEED_PORT) {
    if (settings[setting] === undefined || settings[setting] === UNSET[setting]) continue
    const message = 'is for a proxy that listens on a port: this one speaks on standard input and output'
    refuse(context, [setting], message)
  }
  addedPluginRules(ownEntries(settings), settings.plugins, context)
})

export type StdioSettings = z.output<typeof StdioSettings>

/** The defaults of these settings. */
const UNSET: Readonly<Record<string, unknown>> = { host: '127.0.0.1', port: 0, accessLog: 'errors' }

const NEED_PORT = [
  'host',
  'port',
  'internalAddress',
  'allowedOrigins',
  'trustedProxies',
  'accessLog',
  'resourceUrl',
  'drainDelay',
  'oidcIssuer',
  'maxConnections',
  'tls',
] as const

/** The proxy with its client side on standard input and output, for clients that can only start a command. */
export const stdio = (settings: StdioSettings): List =>
  withAddedPlugins(ownEntries(settings), settings.plugins).list

function ownEntries(settings: StdioSettings): Entry[] {
  const { targetUri: target, targetTimeout } = settings
  return [
    // Only the program that started the process can send it requests.
    { use: 'auth/anonymous' },
    ...outgoing(settings, { tellsCallers: true }),
    forwarder({
      ...settings,
      // In the older transport the target chooses the path for POST requests.
      targetUri: URL.canParse(target) ? new URL(target).origin : target,
      // The client limits the time of an answer: it can cancel.
      targetTimeout: targetTimeout ?? 0,
    }),
    { use: 'listen/stdio', with: { target }, origin: { target: ['targetUri'] } },
  ]
}
