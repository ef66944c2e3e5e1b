import type { Readable, Writable } from 'node:stream'
import { BackgroundTask, ConfigError, definePlugin } from 'sallyport'
import { LONGEST_WAIT, targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { Bridge } from './stdio/bridge.js'
import { Conversation } from './stdio/conversation.js'
import { HttpLink } from './stdio/http-link.js'
import { Stdout } from './stdio/stdout.js'

const options = z.strictObject({
  target: targetUrl().describe(
    "the server's URL: requests go to its path and query, below the root of the forwarder's target",
  ),
  maxMessage: z
    .int()
    .positive()
    .default(256 * 1024 * 1024)
    .describe('bytes of the largest message, in either direction'),
  maxOpen: z
    .int()
    .positive()
    .default(10_000)
    .describe('requests that are open at once; further ones get an error'),
  drainLimit: z
    .int()
    .nonnegative()
    .max(LONGEST_WAIT)
    .default(30_000)
    .describe('milliseconds to wait for open requests when the input has ended'),
})

export interface Streams {
  readonly stdin: Readable
  readonly stdout: Writable
}

/** The plugin, for the standard streams of one run of the program. */
export const stdioOn = (streams: Streams) =>
  definePlugin({
    name: 'listen/stdio',
    api: 1,
    summary:
      'Serves MCP on standard input and output, and sends every message through the gateway. It comes after the forwarder.',
    provides: [BackgroundTask],
    stdout: 'protocol',
    options,

    setup(gateway, { target, maxMessage, maxOpen, drainLimit }) {
      const { log } = gateway
      const { stdin, stdout } = streams
      let bridge: Bridge | undefined
      let finish: (over: Promise<void>) => void = () => {}
      const over = new Promise<void>((resolve) => {
        finish = resolve
      })
      gateway.provide(BackgroundTask, {
        over,
        end: () => (bridge === undefined ? finish(Promise.resolve()) : bridge.end()),
      })
      gateway.onReady(() => {
        if (stdin.listenerCount('readable') > 0) throw alreadyRead()
        const output = new Stdout(stdout, () => bridge?.end())
        const url = new URL(target)
        const link = new HttpLink(() => gateway.connect(), url)
        const conversation = new Conversation({
          ...{ link, output, log, maxOpen },
          target: url,
          maxMessage,
        })
        bridge = new Bridge(stdin, output, conversation, { most: maxMessage, drain: drainLimit })
        finish(bridge.run())
      })
      gateway.onStop(() => (bridge === undefined ? undefined : over))
    },
  })

export default stdioOn(process)

/** Two readers would each get a part of the input. */
const alreadyRead = (): ConfigError =>
  new ConfigError([
    { place: 'standard input', message: 'another list reads it already: start the program again instead' },
  ])
