import { homedir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, StateStore, secretText } from 'sallyport'
import { z } from 'zod'
import { FileStore } from './file-store.js'
import { openSeal } from './value-seal.js'

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
        'encrypts the files; else a file, else SALLYPORT_STATE_PASSPHRASE in the environment, else none',
      ),
    passphraseFile: z.string().min(1).optional().describe('file that holds the passphrase'),
  }),

  async setup(gateway, { directory, passphrase, passphraseFile }) {
    const { log, scrubber } = gateway
    const path = directory === undefined ? defaultDirectory() : gateway.path(directory)
    const file = passphraseFile === undefined ? undefined : gateway.path(passphraseFile)
    const seal = openSeal({ value: passphrase, file, env: ['SALLYPORT_STATE_PASSPHRASE'] }, { log, scrubber })
    gateway.onStop(() => seal?.release())
    const store = await FileStore.open(path, { log, seal })
    gateway.provide(StateStore, store)
  },
})

function defaultDirectory(): string {
  const given = process.env['XDG_STATE_HOME'] ?? ''
  return join(given === '' ? join(homedir(), '.local', 'state') : given, 'sallyport')
}
