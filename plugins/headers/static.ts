import {
  definePlugin,
  HeaderSource,
  headerName,
  isHeaderValue,
  type OutgoingHeaders,
  secretText,
} from 'sallyport'
import { z } from 'zod'
import { refuseRepeats } from './names.js'

export default definePlugin({
  name: 'headers/static',
  api: 1,
  summary: 'Adds fixed headers to every request on its way out.',
  provides: [HeaderSource],
  options: z.strictObject({
    headers: z
      .array(
        z.strictObject({
          name: headerName().describe('the name of the header'),
          value: secretText()
            .refine(isHeaderValue, 'this value cannot stand in a header: it holds bytes that end or break it')
            .describe('its value'),
        }),
      )
      .min(1)
      .superRefine(refuseRepeats)
      .describe("headers to add; the caller's own of the same name are removed"),
  }),

  setup(gateway, options) {
    const fixed: OutgoingHeaders = options.headers.map(({ name, value }) => [name, value] as const)
    const forget = options.headers.map(({ value }) => gateway.scrubber.add(value))
    const names = fixed.map(([name]) => name)
    if (names.includes('authorization')) {
      gateway.log.warn('Authorization is set by hand: every caller reaches the target with this credential')
    }
    gateway.provide(HeaderSource, { names, headers: () => fixed })
    gateway.onStop(() => {
      for (const each of forget) each()
    })
  },
})
