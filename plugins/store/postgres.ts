import { CatalogueStore, definePlugin, Health, type HealthState, PublicationStore } from 'sallyport'
import { z } from 'zod'
import { loadDriver } from './database/connector.js'
import { Database } from './database/database.js'
import { databaseOptions } from './database/options.js'
import { PostgresPublications } from './postgres/postgres-publications.js'
import { PostgresSource } from './postgres/postgres-source.js'
import { openSources } from './sqlite/sqlite-sources.js'

export default definePlugin({
  name: 'store/postgres',
  api: 1,
  summary:
    'Stores in PostgreSQL what the catalogue has read, and what is published: several replicas serve the same, and one of them reads each source.',
  provides: [CatalogueStore, PublicationStore, Health],
  options: databaseOptions.safeExtend({
    directory: z
      .string()
      .nullable()
      .optional()
      .describe(
        'where a copy is saved, for a start while the database cannot be reached; the user’s state directory when unset, null saves none',
      ),
  }),

  async setup(gateway, { directory, ...options }) {
    const { log, meter, scrubber } = gateway
    const revision = meter.gauge('store_revision', 'Revision of what is served of a source', ['source'])
    const current = meter.gauge(
      'store_current_timestamp_seconds',
      'When what is served of a source was last known to be the newest',
      ['source'],
    )
    // A reload keeps the connections.
    const database = await gateway.share(
      `database ${JSON.stringify(options)}`,
      () => Database.open(options, { log, scrubber, path: (path) => gateway.path(path) }),
      // The setup that awaits this reports the error.
      (opening) =>
        opening.then(
          (opened) => opened.close(),
          () => {},
        ),
    )
    const copies = directory === null ? undefined : openSources(gateway, gateway.path(directory))
    gateway.onStart(() => {
      gateway.onStop(database.measureBy(meter))
      return database.start()
    })
    gateway.provide(PublicationStore, {
      open(source) {
        const location = `published in ${database.place}`
        const copy = copies?.open({ name: source, location })
        const copyFailed = (error: unknown): void =>
          log.warn({ source, err: error }, 'no copy of what is published could be saved on this machine')
        const opened = new PostgresPublications(location, source, { database, copy, copyFailed })
        gateway.onStop(() => opened.close())
        return opened
      },
    })
    const currentAt = new Map<string, number>()
    gateway.provide(Health, {
      name: gateway.id,
      check: () => withAge(database.health(), Math.min(...currentAt.values())),
    })
    gateway.provide(CatalogueStore, {
      open: ({ name, location }) =>
        new PostgresSource(
          { name, location },
          {
            database,
            copy: copies?.open({ name, location }),
            isCurrent(known) {
              revision(known, { source: name })
              current(Date.now() / 1000, { source: name })
              currentAt.set(name, Date.now())
            },
          },
        ),
    })
  },

  importPackages: loadDriver,

  async migrate({ path, signal }, { directory: _, ...options }) {
    const { migrateDatabase } = await import('./database/migrate.js')
    return migrateDatabase(options, path, signal)
  },

  async examine(examination, { directory: _, ...options }) {
    const { examineDatabase } = await import('./database/examine.js')
    await examineDatabase(examination, options)
  },
})

function withAge({ status, reason }: HealthState, currentAt: number): HealthState {
  if (reason === undefined || !Number.isFinite(currentAt))
    return { status, ...(reason !== undefined && { reason }) }
  return {
    status,
    reason: `${reason}; what is served was the newest at ${new Date(currentAt).toISOString()}`,
  }
}
