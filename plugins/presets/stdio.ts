import type { List } from 'sallyport'
import type { z } from 'zod'
import { forwarder, outgoing, ProxySettings } from './proxy.js'

/** What `sallyport proxy stdio` was told: the settings of the proxy, but for those of a port. */
export const StdioSettings = ProxySettings.superRefine((settings, context) => {
  for (const setting of NEED_PORT) {
    if (settings[setting] === undefined) continue
    const message = 'is for a proxy that listens on a port: this one speaks on standard input and output'
    context.issues.push({ code: 'custom', input: undefined, path: [setting], message, continue: true })
  }
})

export type StdioSettings = z.output<typeof StdioSettings>

const NEED_PORT = [
  'internalAddress',
  'allowedOrigins',
  'resourceUrl',
  'oidcIssuer',
  'maxConnections',
] as const

/** The proxy with its outer end on standard input and output, for clients that can only start a command. */
export function stdio(settings: StdioSettings): List {
  const { targetUri, targetTimeout } = settings
  return [
    // Whoever started the process is the only one who can ask it anything.
    { use: 'auth/anonymous' },
    ...outgoing(settings),
    forwarder({
      ...settings,
      // The older transport posts to a path of the target's choice.
      targetUri: new URL(targetUri).origin,
      // How long an answer may take is the client's to say: it can cancel.
      targetTimeout: targetTimeout ?? 0,
    }),
    { use: 'listen/stdio', with: { target: targetUri }, origin: { target: ['targetUri'] } },
  ]
}
