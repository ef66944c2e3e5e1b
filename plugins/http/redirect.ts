import { definePlugin } from 'sallyport'
import { z } from 'zod'

// One slash only: after two, browsers read a host.
const path = z.string().regex(/^\/(?![/\\])[\w./~-]*$/, 'expected a path, such as /catalogue/')

export default definePlugin({
  name: 'http/redirect',
  api: 1,
  summary: 'Redirects one path to another, without authentication.',
  options: z.strictObject({
    from: path.default('/').describe('the path to redirect'),
    to: path.describe('the path to redirect to'),
  }),

  setup({ http }, { from, to }) {
    http.get(from, { config: { public: true } }, (_request, reply) => reply.redirect(to))
  },
})
