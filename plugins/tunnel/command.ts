import { childEnvironment, definePlugin, GatewayError, Tunnel } from 'sallyport'
import { executable } from './child/executable.js'
import { opened } from './child/opening.js'
import { options } from './command/options.js'
import { finderBy, findHost } from './command/pattern.js'

export default definePlugin({
  name: 'tunnel/command',
  api: 1,
  summary:
    'Opens a tunnel with a program of yours, and reads the public URL off what it prints. No shell is involved.',
  provides: [Tunnel],
  options,

  setup(gateway, { command, pattern, publicUrl }) {
    const [name = '', ...rest] = command
    let program = ''
    gateway.onStart(() => {
      program = executable(name.includes('/') ? gateway.path(name) : name, 'command')
    })
    gateway.provide(Tunnel, {
      name,
      key: `command ${JSON.stringify([command, pattern, publicUrl])}`,
      open(local, signal) {
        const find = pattern === undefined ? findHost : finderBy(pattern, publicUrl)
        // Later lines may quote what callers sent, and none of them is to choose the name of the gateway.
        let found = false
        return opened({
          argv: [program, ...rest.map((word) => filledIn(word, local))],
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
              `${name} ${how} before it told a public URL: --debug shows what it said`,
            ),
        })
      },
    })
  },
})

const filledIn = (word: string, { hostname, port, origin }: URL): string => {
  const known: Readonly<Record<string, string>> = { '{host}': hostname, '{port}': port, '{url}': origin }
  return word.replaceAll(/\{(?:host|port|url)\}/g, (place) => known[place] ?? place)
}
