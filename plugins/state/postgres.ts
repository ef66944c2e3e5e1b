import { definePlugin, Health, StateStore } from 'sallyport'
import { Database } from '#plugins/store/database/database.js'
import { loadDriver } from '#plugins/store/database/driver.js'
import { databaseOptions } from '#plugins/store/database/options.js'
import { DatabaseStore } from './database-store.js'
import { SealedValues, sharedKeyOptions } from './sealed-values.js'

export default definePlugin({
  name: 'state/postgres',
  api: 1,
  summary: 'Stores tokens and registered clients in PostgreSQL, encrypted, for all replicas of a gateway.',
  provides: [StateStore, Health],
  options: databaseOptions.safeExtend(sharedKeyOptions),

  async setup(gateway, options) {
    const values = SealedValues.open(gateway, options)
    const database = await Database.open(options, gateway)
    gateway.onStop(() => database.close())
    gateway.onStart(() => {
      database.measureBy(gateway.meter)
      return database.start()
    })
    gateway.provide(StateStore, new DatabaseStore(database, values))
    gateway.provide(Health, { name: gateway.id, check: () => database.health() })
  },

  importPackages: loadDriver,

  async migrate({ path, signal }, options) {
    const { migrateDatabase } = await import('#plugins/store/database/migrate.js')
    return migrateDatabase(options, path, signal)
  },

  async examine(examination, options) {
    const { examineDatabase } = await import('#plugins/store/database/examine.js')
    await examineDatabase(examination, options)
  },
})
