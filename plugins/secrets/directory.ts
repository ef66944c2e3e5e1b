import { join } from 'node:path'
import { definePlugin, GatewayError, SecretStore } from 'sallyport'
import { fileFailure, readRegularFile, WatchedFile, warnIfWorldReadable } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'secrets/directory',
  api: 1,
  summary:
    'Reads secrets from a directory that holds one file for each, as Docker and Kubernetes mount them, and again when they change.',
  provides: [SecretStore],
  options: z.strictObject({ path: z.string().min(1).describe('the directory') }),

  setup(gateway, options) {
    const directory = gateway.path(options.path)
    gateway.provide(SecretStore, {
      name: `directory ${directory}`,
      async get(name) {
        if (!isSecretName(name)) return undefined
        const file = join(directory, name)
        const text = await readIfThere(file)
        if (text !== undefined) warnIfWorldReadable(file, gateway.log)
        return text === undefined ? undefined : trimmed(text)
      },
      watch(name, changed) {
        const file = WatchedFile.open(join(directory, name), { log: gateway.log })
        file.onChange((text) => changed(trimmed(text)))
        return () => file.close()
      },
    })
  },
})

const MAX_BYTES = 2 ** 20

// A safe file name, too: it cannot lead out of the directory.
const isSecretName = (name: string): boolean => /^[\dA-Za-z_][\w.-]{0,127}$/.test(name)

// Editors and `echo` end a file with a newline.
const trimmed = (text: string): string => text.replace(/\r?\n$/, '')

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readRegularFile(file, MAX_BYTES)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new GatewayError('SECRET_UNREADABLE', `cannot read ${file}: ${fileFailure(cause)}`, { cause })
  }
}
