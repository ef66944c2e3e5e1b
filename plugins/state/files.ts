import { homedir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, definePlugin, SecretStore, StateStore, secretFrom, secretText } from 'sallyport'
import { z } from 'zod'
import { FileStore } from './file-store.js'
import { KeptKeys } from './kept-keys.js'
import { PassphraseKeys } from './passphrase-keys.js'
import { Seal } from './seal.js'

export default definePlugin({
  name: 'state/files',
  api: 1,
  summary: 'Keeps tokens and registered clients over restarts, in files that only this user may read.',
  provides: [StateStore],
  options: z.strictObject({
    directory: z
      .string()
      .min(1)
      .optional()
      .describe('where the files are; `sallyport` in the state directory of the user (XDG) unless given'),
    passphrase: secretText()
      .optional()
      .describe(
        'encrypts the files; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment, else a kept key',
      ),
    passphraseFile: z.string().min(1).optional().describe('file that holds the passphrase'),
    keptKey: z
      .boolean()
      .default(true)
      .describe(
        'without a passphrase, encrypt with a key in the first secret store of the list that can keep one',
      ),
    takeOver: z
      .boolean()
      .default(false)
      .describe(
        'encrypt at the start what was kept before there was a key, once, as `sallyport auth seal` does; else it is refused where there is one, for whoever can write the directory may have planted it',
      ),
  }),

  async setup(gateway, { directory, passphrase: value, passphraseFile, keptKey, takeOver }) {
    const { log, scrubber } = gateway
    const path = directory === undefined ? defaultDirectory() : gateway.path(directory)
    const file = passphraseFile === undefined ? undefined : gateway.path(passphraseFile)
    const secret = secretFrom({ value, file, env: ['SALLYPORT_STATE_PASSPHRASE'] }, { log, scrubber })
    const passphrase = secret === undefined ? undefined : new PassphraseKeys(secret)
    gateway.onStop(() => passphrase?.release())
    const kept = new KeptKeys(gateway.use(SecretStore), log)
    const seal = new Seal({ passphrase, kept, useKept: keptKey })
    const store = await FileStore.open(path, { log, seal })
    gateway.provide(StateStore, store)
    if (takeOver) gateway.onStart(() => takenOver(store))
  },
})

async function takenOver(store: FileStore): Promise<void> {
  if (await store.takeOver()) return
  const message =
    'there is nothing to encrypt with: expected a passphrase in SALLYPORT_STATE_PASSPHRASE, or a keyring that is unlocked'
  throw new ConfigError([{ place: 'takeOver', message }])
}

function defaultDirectory(): string {
  const given = process.env['XDG_STATE_HOME'] ?? ''
  return join(given === '' ? join(homedir(), '.local', 'state') : given, 'sallyport')
}
