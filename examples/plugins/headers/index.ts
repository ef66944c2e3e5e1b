import { definePlugin, HeaderSource, type OutgoingHeaders } from 'sallyport'
import { isHeaderValue } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'my-headers',
  api: 1,
  version: '0.1.0',
  summary: 'Sends the name of the gateway to the target.',
  provides: [HeaderSource],
  options: z.strictObject({
    name: z
      .string()
      .refine(isHeaderValue, 'expected a text that can stand in a header')
      .default('gateway')
      .describe('the name of this gateway'),
  }),

  setup(gateway, { name }) {
    // Created once: `headers()` runs for every request.
    const headers: OutgoingHeaders = [['x-gateway', name]]
    gateway.provide(HeaderSource, { names: ['x-gateway'], headers: () => headers })
  },
})
