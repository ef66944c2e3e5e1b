import { definePlugin, PublicPath } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'auth/public-paths',
  api: 1,
  summary: 'Makes paths, and all paths below them, public: no token is required.',
  provides: [PublicPath],
  omits: ({ paths }) => (paths.length === 0 ? [PublicPath] : []),
  options: z.strictObject({
    paths: z
      .array(
        z
          .string()
          // Patterns and encodings would be compared as plain text and never match; `/` would make all paths public.
          .regex(
            /^(?:\/(?!\.{1,2}(?:\/|$))[^/\s?#%*:]+)+\/?$/,
            'expected a plain path below /, such as /registry/public',
          ),
      )
      .describe('compared with the path of the route, by whole segments'),
  }),

  setup(gateway, { paths }) {
    for (const path of paths) gateway.provide(PublicPath, path)
  },
})
