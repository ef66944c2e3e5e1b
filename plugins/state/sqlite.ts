import { join } from 'node:path'
import { ConfigError, definePlugin, Health, SecretStore, StateStore } from 'sallyport'
import { secretText, userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { Database, DatabaseError } from '#plugins/store/sqlite/database.js'
import { openPassphrase } from './sealed-values.js'
import { SqliteStore } from './sqlite/sqlite-store.js'
import { UnsavedWrites } from './sqlite/unsaved-values.js'
import { Encryption, StoredKeys } from './stored-keys.js'

export default definePlugin({
  name: 'state/sqlite',
  api: 1,
  summary:
    'Stores tokens and registered clients over restarts, in an SQLite database that only this user may read.',
  provides: [StateStore, Health],
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe(
        'directory of the database, on a local disk; default: `sallyport` in the state directory of the user (XDG)',
      ),
    passphrase: secretText()
      .optional()
      .describe(
        'encrypts the values; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment, else a stored key',
      ),
    passphraseFile: z.string().min(1).optional().describe('file that holds the passphrase'),
    keptKey: z
      .boolean()
      .default(true)
      .describe('without a passphrase, encrypt with a key in the first writable secret store of the list'),
    takeOver: z
      .boolean()
      .default(false)
      .describe(
        'encrypt at the start, once, what was stored before there was a key, as `sallyport auth seal` does; otherwise it is refused, since anybody who can write the directory may have planted it',
      ),
  }),

  async setup(gateway, { directory, keptKey, takeOver, ...secret }) {
    const { log } = gateway
    const folder = directory === undefined ? userFolder('state', process.env) : gateway.path(directory)
    const path = join(folder, 'state.sqlite')
    const passphrase = openPassphrase(gateway, secret)
    const stored = new StoredKeys(gateway.use(SecretStore), log)
    const encryption = new Encryption({ passphrase, stored, useStored: keptKey })
    const database = gateway.share(
      `database ${path}`,
      () => new Database(path, 'state'),
      (shared) => shared.close(),
    )
    await database.opened.catch((cause: unknown) => {
      if (!(cause instanceof DatabaseError)) throw cause
      const message = `cannot keep state in ${path}: ${cause.failure.reason}`
      throw new ConfigError([{ place: 'directory', message }], { cause })
    })
    // Unsaved values are the newest: without them, a list after a reload would use a redeemed refresh token.
    const unsaved = gateway.share(`unsaved ${path}`, () => new UnsavedWrites())
    const store = new SqliteStore({ database, log, encryption, unsaved })
    gateway.provide(StateStore, store)
    gateway.provide(Health, { name: gateway.id, check: () => store.health() })
    gateway.onStop(() => store.stop())
    if (takeOver) gateway.onStart(() => encryptExisting(store))
  },
})

async function encryptExisting(store: SqliteStore): Promise<void> {
  if (await store.encryptAll()) return
  const message =
    'there is no key to encrypt with: expected a passphrase in SALLYPORT_STATE_PASSPHRASE, or an unlocked keyring'
  throw new ConfigError([{ place: 'takeOver', message }])
}
