import { definePlugin, GatewayError, Tunnel } from 'sallyport'
import { childEnvironment, portOf } from 'sallyport/toolkit'
import { findExecutable } from './child/executable.js'
import { openTunnel } from './child/opening.js'
import { options } from './command/options.js'
import { findHttpsOrigin, patternFinder } from './command/pattern.js'

export default definePlugin({
  name: 'tunnel/command',
  api: 1,
  summary:
    'Opens a tunnel with any program, and reads the public URL from what it prints. No shell is involved.',
  provides: [Tunnel],
  options,

  setup(gateway, { command, pattern, publicUrl }) {
    const [name = '', ...rest] = command
    let program = ''
    gateway.onStart(() => {
      program = findExecutable(name.includes('/') ? gateway.path(name) : name, 'command')
    })
    gateway.provide(Tunnel, {
      name,
      key: `command ${JSON.stringify([command, pattern, publicUrl])}`,
      open(local, signal) {
        const find = pattern === undefined ? findHttpsOrigin : patternFinder(pattern, publicUrl)
        // Only the first match counts: later lines may quote requests, and callers must not choose the gateway's URL.
        let found = false
        return openTunnel({
          argv: [program, ...rest.map((word) => withPlaceholders(word, local))],
          env: childEnvironment(gateway.scrubber),
          signal,
          read(line) {
            gateway.log.debug({ line }, name)
            const url = found ? undefined : find(line)
            found ||= url !== undefined
            return url
          },
          failed: (how) =>
            new GatewayError(
              'TUNNEL_ENDED',
              `${name} ${how} before it printed a public URL: --debug shows its output`,
            ),
        })
      },
    })
  },
})

const withPlaceholders = (word: string, local: URL): string => {
  const values: Readonly<Record<string, string>> = {
    '{host}': local.hostname,
    '{port}': String(portOf(local)),
    '{url}': local.origin,
  }
  return word.replaceAll(/\{(?:host|port|url)\}/g, (placeholder) => values[placeholder] ?? placeholder)
}
