import { definePlugin, PublicPath } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'auth/public-paths',
  api: 1,
  summary: 'Makes paths, with all that is below them, public: no token is required.',
  provides: [PublicPath],
  omits: ({ paths }) => (paths.length === 0 ? [PublicPath] : []),
  options: z.strictObject({
    paths: z
      .array(
        z
          .string()
          // A pattern or an encoding would be compared as plain text and never match; `/` would open everything.
          .regex(
            /^(?:\/(?!\.{1,2}(?:\/|$))[^/\s?#%*:]+)+\/?$/,
            'expected a plain path below /, such as /registry/public',
          ),
      )
      .describe('matched by whole segments, on the path of the route'),
  }),

  setup(gateway, { paths }) {
    for (const path of paths) gateway.provide(PublicPath, path)
  },
})
