import { ConfigError, definePlugin, Health, SecretStore, StateStore } from 'sallyport'
import { secretText, userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { HeldLocks } from '#plugins/store/files/generation-lock.js'
import { Encryption } from './encryption.js'
import { FileStore } from './file-store.js'
import { openPassphrase } from './passphrase-keys.js'
import { UnsavedValues } from './pending-writes.js'
import { StoredKeys } from './stored-keys.js'

export default definePlugin({
  name: 'state/files',
  api: 1,
  summary: 'Stores tokens and registered clients over restarts, in files that only this user may read.',
  provides: [StateStore, Health],
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe('directory of the files; default: `sallyport` in the state directory of the user (XDG)'),
    passphrase: secretText()
      .optional()
      .describe(
        'encrypts the files; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment, else a stored key',
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
    const path = directory === undefined ? userFolder('state', process.env) : gateway.path(directory)
    const passphrase = openPassphrase(gateway, secret)
    const stored = new StoredKeys(gateway.use(SecretStore), log)
    const encryption = new Encryption({ passphrase, stored, useStored: keptKey })
    // A list that takes the place of this one would wait for locks that the disk did not let go.
    const locks = gateway.share('locks', () => new HeldLocks())
    // They are the newest: the list after a reload would use a refresh token that was redeemed.
    const unsaved = gateway.share(`unsaved ${path}`, () => new UnsavedValues())
    const store = await FileStore.open(path, { log, encryption, locks, unsaved })
    gateway.provide(StateStore, store)
    gateway.provide(Health, { name: gateway.id, check: () => store.health() })
    gateway.onStop(() => store.stop())
    if (takeOver) gateway.onStart(() => encryptExisting(store))
  },
})

async function encryptExisting(store: FileStore): Promise<void> {
  if (await store.encryptAll()) return
  const message =
    'there is no key to encrypt with: expected a passphrase in SALLYPORT_STATE_PASSPHRASE, or an unlocked keyring'
  throw new ConfigError([{ place: 'takeOver', message }])
}
