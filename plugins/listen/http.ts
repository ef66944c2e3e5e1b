import { definePlugin, Listener, listenAddress } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'listen/http',
  api: 1,
  summary: 'Opens the main port.',
  provides: [Listener],
  options: z.strictObject({
    address: listenAddress().describe('`HOST:PORT`; port 0 takes a free one'),
    maxConnections: z.int().positive().optional().describe('sockets open at once; further ones are closed'),
    headersTimeout: z
      .int()
      .positive()
      .default(20_000)
      .describe('milliseconds for a caller to send its headers'),
  }),

  setup(gateway, options) {
    gateway.provide(Listener, { port: 'main', ...options })
  },
})
