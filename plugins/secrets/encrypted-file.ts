import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { definePlugin, GatewayError, SecretStore } from 'sallyport'
import { secretFrom, secretText, userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { decrypt, encrypt } from './encryption.js'

const PASSPHRASE = 'SALLYPORT_SECRETS_PASSPHRASE'

export default definePlugin({
  name: 'secrets/encrypted-file',
  api: 1,
  summary: 'Stores secrets in one encrypted file, for machines without a keyring.',
  provides: [SecretStore],
  options: z.strictObject({
    path: z
      .string()
      .min(1)
      .optional()
      .describe('the file; default: `sallyport/secrets` in the data directory of the user'),
    passphrase: secretText()
      .optional()
      .describe(`encrypts the file; else a file, else ${PASSPHRASE} in the environment`),
    passphraseFile: z
      .string()
      .min(1)
      .optional()
      .describe(`file that holds the passphrase; ${PASSPHRASE}_FILE may name it too`),
  }),

  setup(gateway, { path, passphrase, passphraseFile }) {
    const { log, scrubber } = gateway
    const file = path === undefined ? join(userFolder('data', process.env), 'secrets') : gateway.path(path)
    // Read when it is needed: a proxy with its secrets in other stores needs no passphrase.
    const readPassphrase = (): string => {
      const named = passphraseFile ?? nonEmpty(process.env[`${PASSPHRASE}_FILE`])
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
    const readAll = async (): Promise<Record<string, string>> => {
      const text = await readIfThere(file)
      return text === undefined ? {} : decrypt(text, readPassphrase())
    }
    const writeAll = async (values: Readonly<Record<string, string>>): Promise<void> =>
      replaceFile(file, await encrypt(values, readPassphrase()))

    gateway.provide(SecretStore, {
      name: `encrypted file ${file}`,
      get: async (name) => ownValue(await readAll(), name),
      keeping: {
        set: async (name, value) => writeAll({ ...(await readAll()), [name]: value }),
        names: async () => Object.keys(await readAll()).sort(),
        async delete(name) {
          const { [name]: removed, ...rest } = await readAll()
          if (removed !== undefined) await writeAll(rest)
          return removed !== undefined
        },
      },
    })
  },
})

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

const ownValue = (values: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new GatewayError('SECRET_UNREADABLE', `cannot read ${file}`, { cause })
  }
}

/** Replaces a file by a rename, readable by this user only: after a kill it is the old one or the new one. */
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
