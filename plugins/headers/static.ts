import { definePlugin, HeaderSource, type OutgoingHeaders } from 'sallyport'
import { headerName, isHeaderValue, secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { refuseDuplicates } from './names.js'

export default definePlugin({
  name: 'headers/static',
  api: 1,
  summary: 'Adds fixed headers to every request to the target.',
  provides: [HeaderSource],
  options: z.strictObject({
    headers: z
      .array(
        z.strictObject({
          name: headerName().describe('the name of the header'),
          value: secretText()
            .refine(
              (value) => value === '' || isHeaderValue(value),
              'this is not a valid header value: it holds bytes that end or break a header',
            )
            .describe('its value'),
        }),
      )
      .min(1)
      .superRefine(refuseDuplicates)
      .describe("headers to add; the gateway removes the caller's own headers of the same names"),
  }),

  setup(gateway, options) {
    const fixed: OutgoingHeaders = options.headers.map(({ name, value }) => [name, value] as const)
    const forget = options.headers.map(({ value }) => gateway.scrubber.add(value))
    const names = fixed.map(([name]) => name)
    const secret = names.includes('authorization')
    if (secret) {
      gateway.log.warn(
        'Authorization is a fixed header: every caller reaches the target with this credential',
      )
    }
    gateway.provide(HeaderSource, { names, secret, headers: () => fixed })
    gateway.onStop(() => {
      for (const each of forget) each()
    })
  },
})
