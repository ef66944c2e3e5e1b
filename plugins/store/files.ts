import { hash } from 'node:crypto'
import { join } from 'node:path'
import { CatalogueStore, definePlugin, Health, PublicationStore } from 'sallyport'
import { userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { FilePublications } from './files/file-publications.js'
import { HeldLocks } from './files/generation-lock.js'
import { openJournal } from './files/open-journal.js'
import { stateFiles } from './state-file.js'

export default definePlugin({
  name: 'store/files',
  api: 1,
  summary:
    'Stores the last good state of each source of the registry, and what is published, in files, for this process alone.',
  provides: [CatalogueStore, PublicationStore, Health],
  oneProcess: {
    requiring: PublicationStore,
    reason: 'what is published is in files of one process; `store/postgres` is shared by several',
  },
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        'directory of the files; default: `sallyport/registry` in the state directory of the user (XDG)',
      ),
  }),

  setup(gateway, { directory: given }) {
    const directory =
      given === undefined ? join(userFolder('state', process.env), 'registry') : gateway.path(given)
    gateway.provide(CatalogueStore, stateFiles(directory))
    const { log } = gateway
    const opened: FilePublications[] = []
    const openShared = (source: string): Promise<FilePublications> => {
      const path = join(directory, `${fileName(source)}.journal`)
      const locks = gateway.share('locks', () => new HeldLocks())
      // A reload hands the open journal over.
      return gateway.share(
        `journal ${path}`,
        async () => new FilePublications(await openJournal(path, source, { locks, log }), log),
        // What failed to open is told by who awaits it.
        (opening) =>
          opening.then(
            (journal) => journal.close(),
            () => {},
          ),
      )
    }
    gateway.provide(PublicationStore, {
      async open(source) {
        const publications = await openShared(source)
        opened.push(publications)
        return publications
      },
    })
    gateway.provide(Health, {
      name: gateway.id,
      check: () =>
        opened.map((each) => each.health()).find(({ status }) => status !== 'ok') ?? { status: 'ok' },
    })
  },
})

/** Any name, also one that is too long for a file system or differs in its case alone. */
const fileName = (source: string): string =>
  `${encodeURIComponent(source.toWellFormed()).slice(0, 80)}-${hash('sha256', source).slice(0, 12)}`
