import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { definePlugin, GatewayError, type Log, SecretStore } from 'sallyport'
import { fileFailure, readRegularFile, secretFrom, secretText, userFolder } from 'sallyport/toolkit'
import { z } from 'zod'
import { DatabaseError } from '#plugins/store/sqlite/database.js'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'
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
    // Read on demand: a proxy with its secrets in other stores needs no passphrase.
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
    const writeAll = async (values: Secrets): Promise<void> =>
      replaceFile(file, await encrypt(values, readPassphrase()))
    const changing = <T>(work: () => Promise<T>): Promise<T> => underLock(file, log, work)

    gateway.provide(SecretStore, {
      name: `encrypted file ${file}`,
      get: async (name) => ownValue(await readAll(), name),
      keeping: {
        set: (name, value) => changing(async () => writeAll({ ...(await readAll()), [name]: value })),
        names: async () => Object.keys(await readAll()).sort(),
        delete: (name) =>
          changing(async () => {
            const { [name]: removed, ...rest } = await readAll()
            if (removed !== undefined) await writeAll(rest)
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

/** A lock lets one process at a time change the file, since each change writes the whole file. */
async function underLock<T>(file: string, log: Pick<Log, 'warn'>, work: () => Promise<T>): Promise<T> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const lock = await new FileLock(`${file}.lock`, log).acquire()
    try {
      return await work()
    } finally {
      lock.release()
    }
  } catch (cause) {
    if (!isFileSystemError(cause) && !(cause instanceof DatabaseError)) throw cause
    const reason = cause instanceof DatabaseError ? cause.failure.reason : fileFailure(cause)
    throw new GatewayError('SECRET_UNWRITABLE', `cannot write ${file}: ${reason}`, { cause })
  }
}

const isFileSystemError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && 'code' in error

/** Replaces a file by a rename, readable by this user only: after a kill the old or the new file is complete. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  // A rename survives a power failure only when the directory is synced too.
  if (process.platform === 'win32') return
  const directory = await open(dirname(path), 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
