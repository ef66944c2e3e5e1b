import { definePlugin, Guard, Refusal } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-guard',
  api: 1,
  version: '0.1.0',
  summary: 'Refuses requests whose URL is longer than allowed.',
  provides: [Guard],
  options: z.strictObject({
    longest: z.int().positive().default(2048).describe('the most characters that path and query may have'),
  }),

  setup(gateway, { longest }) {
    gateway.provide(Guard, ({ url }) => {
      if (url.length <= longest) return
      // The caller reads this sentence: it must hold nothing that only the operator should know.
      throw new Refusal(403, 'URL_TOO_LONG', 'this URL is too long')
    })
  },
})
