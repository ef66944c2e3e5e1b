import { createLog } from 'sallyport/embed'
import { LogScrubber } from '#core/log/scrubber.js'
import { Database } from '#plugins/store/database/database.js'
import { databaseOptions } from '#plugins/store/database/options.js'

// A process that takes the lock `key` in the database of its first argument, says so, and holds it until it is killed.
const database = await Database.open(databaseOptions.parse({ url: process.argv[2] }), {
  log: createLog({ level: 'silent' }),
  scrubber: new LogScrubber(),
  path: (path) => path,
})
await database.locked('key', async () => {
  process.send?.('held')
  await new Promise(() => {})
})
