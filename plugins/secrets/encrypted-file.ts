import { join } from 'node:path'
import { definePlugin, GatewayError, type Log, SecretStore } from 'sallyport'
import { fileFailure, readRegularFile, secretFrom, secretText, userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { isFileSystemError, replaceFile } from '#plugins/store/files/atomic-file.js'
import { GenerationLock, type HeldLock, HeldLocks } from '#plugins/store/files/generation-lock.js'
import { thisProcess } from '#plugins/store/files/lock-owner.js'
import { decrypt, encrypt } from './encryption.js'

type Secrets = Readonly<Record<string, string>>

const MAX_BYTES = 2 ** 26
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
      const places = { value: passphrase, file: gateway.path(named), env: [PASSPHRASE] }
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
    const readAll = async (): Promise<Secrets> => {
      const text = await readIfThere(file)
      return text === undefined ? {} : decrypt(text, readPassphrase())
    }
    const writeAll = async (values: Secrets, lock: HeldLock): Promise<void> => {
      const text = await encrypt(values, readPassphrase())
      await lock.check().catch((cause: unknown) => {
        const message = `nothing was written to ${file}: another process changes it; try again`
        throw new GatewayError('SECRET_UNWRITABLE', message, { cause })
      })
      await replaceFile(file, text)
    }
    const locks = new HeldLocks()
    const changing = <T>(work: (lock: HeldLock) => Promise<T>): Promise<T> =>
      underLock(file, { locks, log }, work)

    gateway.provide(SecretStore, {
      name: `encrypted file ${file}`,
      get: async (name) => ownValue(await readAll(), name),
      keeping: {
        set: (name, value) =>
          changing(async (lock) => writeAll({ ...(await readAll()), [name]: value }, lock)),
        names: async () => Object.keys(await readAll()).sort(),
        delete: (name) =>
          changing(async (lock) => {
            const { [name]: removed, ...rest } = await readAll()
            if (removed !== undefined) await writeAll(rest, lock)
            return removed !== undefined
          }),
      },
    })
  },
})

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

const ownValue = (values: Secrets, name: string): string | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readRegularFile(file, MAX_BYTES)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new GatewayError('SECRET_UNREADABLE', `cannot read ${file}: ${fileFailure(cause)}`, { cause })
  }
}

/** Processes that change the file take turns: each writes all that it read before. */
async function underLock<T>(
  file: string,
  { locks, log }: { readonly locks: HeldLocks; readonly log: Pick<Log, 'warn'> },
  work: (lock: HeldLock) => Promise<T>,
): Promise<T> {
  try {
    const lock = await new GenerationLock(`${file}.lock`, await thisProcess(), locks, log).acquire()
    try {
      return await work(lock)
    } finally {
      await lock.release()
    }
  } catch (cause) {
    if (!isFileSystemError(cause)) throw cause
    throw new GatewayError('SECRET_UNWRITABLE', `cannot write ${file}: ${fileFailure(cause)}`, { cause })
  }
}
