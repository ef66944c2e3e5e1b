import { CatalogueStore, definePlugin } from 'sallyport'
import { z } from 'zod'
import { stateFiles } from './state-file.js'

export default definePlugin({
  name: 'store/files',
  api: 1,
  summary: 'Stores the last good state of each source of the registry in a file, for this machine alone.',
  provides: [CatalogueStore],
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        'directory of the files; default: `sallyport/registry` in the state directory of the user (XDG)',
      ),
  }),

  setup(gateway, { directory }) {
    gateway.provide(CatalogueStore, stateFiles(directory === undefined ? undefined : gateway.path(directory)))
  },
})
