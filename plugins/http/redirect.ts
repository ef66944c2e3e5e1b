import { definePlugin } from 'sallyport'
import { z } from 'zod'

// One slash, so that no host can stand behind it.
const path = z.string().regex(/^\/(?![/\\])[\w./~-]*$/, 'expected a path, such as /catalogue/')

export default definePlugin({
  name: 'http/redirect',
  api: 1,
  summary: 'Sends whoever opens one path to another, without asking who it is.',
  options: z.strictObject({
    from: path.default('/').describe('the path that is asked for'),
    to: path.describe('the path that has the answer'),
  }),

  setup({ http }, { from, to }) {
    http.get(from, { config: { public: true } }, (_request, reply) => reply.redirect(to))
  },
})
