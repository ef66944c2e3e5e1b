import type { Entry, List } from 'sallyport'
import type { z } from 'zod'
import { proxyRules } from './proxy/rules.js'
import { proxyTable } from './proxy/table.js'
import { forwarder, outgoing, proxySections } from './proxy.js'
import { furtherRules, withFurther } from './settings/further.js'
import { refuse } from './settings/refuse.js'
import { settingsSchema } from './settings/schema.js'

/** The settings of `sallyport proxy stdio`: those of the proxy, but for those of a port. */
export const StdioSettings = settingsSchema(proxyTable, proxySections).superRefine((settings, context) => {
  proxyRules(settings, context)
  for (const setting of NEED_PORT) {
    if (settings[setting] === undefined || settings[setting] === UNSET[setting]) continue
    const message = 'is for a proxy that listens on a port: this one speaks on standard input and output'
    refuse(context, [setting], message)
  }
  furtherRules(ownEntries(settings), settings.plugins, context)
})

export type StdioSettings = z.output<typeof StdioSettings>

/** What these are when nobody wrote them. */
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

/** The proxy with its outer end on standard input and output, for clients that can only start a command. */
export const stdio = (settings: StdioSettings): List =>
  withFurther(ownEntries(settings), settings.plugins).list

function ownEntries(settings: StdioSettings): Entry[] {
  const { targetUri: target, targetTimeout } = settings
  return [
    // Whoever started the process is the only one who can ask it anything.
    { use: 'auth/anonymous' },
    ...outgoing(settings, { tellsCallers: true }),
    forwarder({
      ...settings,
      // The older transport posts to a path of the target's choice.
      targetUri: URL.canParse(target) ? new URL(target).origin : target,
      // How long an answer may take is the client's to say: it can cancel.
      targetTimeout: targetTimeout ?? 0,
    }),
    { use: 'listen/stdio', with: { target }, origin: { target: ['targetUri'] } },
  ]
}
