import { ConfigError, definePlugin, Errand, LONGEST_WAIT } from 'sallyport'
import { z } from 'zod'
import { Bridge } from './stdio/bridge.js'
import { Conversation } from './stdio/conversation.js'
import { Outlet } from './stdio/outlet.js'
import { Wire } from './stdio/wire.js'

const options = z.strictObject({
  target: z
    .url({ protocol: /^https?$/, error: 'expected a URL of http or https' })
    .describe("the server's URL: its path is asked for, below the root of what the forwarder reaches"),
  maxMessage: z
    .int()
    .positive()
    .default(256 * 1024 * 1024)
    .describe('bytes of the largest message, in either direction'),
  maxOpen: z
    .int()
    .positive()
    .default(10_000)
    .describe('requests that have no answer yet; more are answered with an error at once'),
  drainLimit: z
    .int()
    .nonnegative()
    .max(LONGEST_WAIT)
    .default(30_000)
    .describe('milliseconds for requests to be answered when the input has ended'),
})

export default definePlugin({
  name: 'listen/stdio',
  api: 1,
  summary:
    'Speaks MCP on standard input and output, and sends every message through the list. It stands behind the forwarder.',
  provides: [Errand],
  options,

  setup(gateway, { target, maxMessage, maxOpen, drainLimit }) {
    const { log } = gateway
    const { stdin, stdout } = process
    let bridge: Bridge | undefined
    let finish: (over: Promise<void>) => void = () => {}
    const over = new Promise<void>((resolve) => {
      finish = resolve
    })
    gateway.provide(Errand, {
      over,
      end: () => (bridge === undefined ? finish(Promise.resolve()) : bridge.end()),
    })
    gateway.onReady(() => {
      if (stdin.listenerCount('readable') > 0) throw taken()
      const outlet = new Outlet(stdout, () => bridge?.end())
      const wire = new Wire(() => gateway.connect())
      const conversation = new Conversation({
        ...{ wire, outlet, log, maxOpen },
        target: new URL(target),
        most: maxMessage,
      })
      bridge = new Bridge(stdin, outlet, conversation, { most: maxMessage, drain: drainLimit })
      finish(bridge.run())
    })
    gateway.onStop(() => (bridge === undefined ? undefined : over))
  },
})

/** A second reader would get every other piece of the input. */
const taken = (): ConfigError =>
  new ConfigError([
    { place: 'standard input', message: 'another list reads it already: start the program again instead' },
  ])
