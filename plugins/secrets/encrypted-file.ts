import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { definePlugin, GatewayError, SecretStore, secretFrom, secretText } from 'sallyport'
import { z } from 'zod'
import { seal, unseal } from './sealed.js'

const PASSPHRASE = 'SALLYPORT_SECRETS_PASSPHRASE'

export default definePlugin({
  name: 'secrets/encrypted-file',
  api: 1,
  summary: 'Keeps secrets in one encrypted file, for machines without a keyring.',
  provides: [SecretStore],
  options: z.strictObject({
    path: z
      .string()
      .min(1)
      .optional()
      .describe('the file; `sallyport/secrets` in the data directory of the user unless given'),
    passphrase: secretText()
      .optional()
      .describe(`what the file is encrypted with; else a file, else ${PASSPHRASE} in the environment`),
    passphraseFile: z
      .string()
      .min(1)
      .optional()
      .describe(`file that holds the passphrase; ${PASSPHRASE}_FILE may name it too`),
  }),

  setup(gateway, { path, passphrase, passphraseFile }) {
    const { log, scrubber } = gateway
    const file = path === undefined ? defaultPath() : gateway.path(path)
    // Only once it is needed: a proxy that finds its secrets elsewhere asks for no passphrase.
    const phrase = (): string => {
      const named = passphraseFile ?? filled(process.env[`${PASSPHRASE}_FILE`])
      const places = { value: passphrase, file: named && gateway.path(named), env: [PASSPHRASE] }
      const secret = secretFrom(places, { log, scrubber })
      const text = secret?.reveal()
      secret?.close()
      if (text === undefined) {
        throw new GatewayError(
          'PASSPHRASE_MISSING',
          `${file} needs a passphrase: set ${PASSPHRASE} or ${PASSPHRASE}_FILE`,
        )
      }
      return text
    }
    const all = async (): Promise<Record<string, string>> => {
      const text = await readIfThere(file)
      return text === undefined ? {} : unseal(text, phrase())
    }
    const change = async (values: Readonly<Record<string, string>>): Promise<void> =>
      replaceFile(file, await seal(values, phrase()))

    gateway.provide(SecretStore, {
      name: `encrypted file ${file}`,
      get: async (name) => ownValue(await all(), name),
      keeping: {
        set: async (name, value) => change({ ...(await all()), [name]: value }),
        names: async () => Object.keys(await all()).sort(),
        async delete(name) {
          const { [name]: gone, ...rest } = await all()
          if (gone !== undefined) await change(rest)
          return gone !== undefined
        },
      },
    })
  },
})

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

const ownValue = (values: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

function defaultPath(): string {
  const data = filled(process.env['XDG_DATA_HOME']) ?? join(homedir(), '.local', 'share')
  return join(data, 'sallyport', 'secrets')
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new GatewayError('SECRET_UNREADABLE', `cannot read ${file}`, { cause })
  }
}

/** The file is the old one or the new one, also after a kill, and nobody else may read either. */
async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (cause) {
    await unlink(draft).catch(() => {})
    throw new GatewayError('SECRET_UNWRITABLE', `cannot write ${file}`, { cause })
  }
}
