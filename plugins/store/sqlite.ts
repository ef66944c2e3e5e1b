import { hash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CatalogueStore, definePlugin, Health, PublicationStore } from 'sallyport'
import { z } from 'zod'
import { Database } from './sqlite/database.js'
import { FileLock } from './sqlite/file-lock.js'
import { SqlitePublications } from './sqlite/sqlite-publications.js'
import { openSources, registryFolder } from './sqlite/sqlite-sources.js'

export default definePlugin({
  name: 'store/sqlite',
  api: 1,
  summary:
    'Stores the last good state of each source of the registry, and what is published, in SQLite files, for this process alone.',
  provides: [CatalogueStore, PublicationStore, Health],
  oneProcess: {
    requiring: PublicationStore,
    reason: 'one process alone publishes in its files; `store/postgres` is shared by several',
  },
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        'directory of the files, on a local disk; default: `sallyport/registry` in the state directory of the user (XDG)',
      ),
  }),

  setup(gateway, { directory: given }) {
    const directory = given === undefined ? registryFolder() : gateway.path(given)
    gateway.provide(CatalogueStore, openSources(gateway, directory))
    const { log } = gateway
    const opened: SqlitePublications[] = []
    const path = join(directory, 'published.sqlite')
    const locks = join(directory, 'locks')
    /** A reload passes them to the next list. */
    const openShared = (source: string): Promise<SqlitePublications> => {
      const database = gateway.share(
        `database ${path}`,
        () => new Database(path, 'published'),
        (shared) => shared.close(),
      )
      return gateway.share(
        `published ${path} ${source}`,
        async () => {
          await database.opened.then(() => mkdirSync(locks, { recursive: true, mode: 0o700 }))
          const lock = new FileLock(join(locks, hash('sha256', source).slice(0, 40)), log)
          return SqlitePublications.open(source, { database, lock, log })
        },
        // The caller that awaits this reports the error.
        (opening) =>
          opening.then(
            (publications) => publications.close(),
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
