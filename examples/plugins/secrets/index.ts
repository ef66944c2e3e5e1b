import { readFile } from 'node:fs/promises'
import { definePlugin, GatewayError, SecretStore } from 'sallyport'
import { fileFailure, warnIfWorldReadable } from 'sallyport/toolkit'
import { z } from 'zod'

const Secrets = z.record(z.string(), z.string())

export default definePlugin({
  name: 'my-secrets',
  api: 1,
  version: '0.1.0',
  summary: 'Reads secrets from one JSON file, by their names in it.',
  provides: [SecretStore],
  options: z.strictObject({ file: z.string().min(1).describe('a JSON object: name to secret') }),

  setup(gateway, options) {
    const file = gateway.path(options.file)
    warnIfWorldReadable(file, gateway.log)
    gateway.provide(SecretStore, {
      name: 'my-secrets',
      async get(name) {
        const secrets = await secretsIn(file)
        // Own names only: `constructor` is no secret.
        return Object.hasOwn(secrets, name) ? secrets[name] : undefined
      },
    })
  },
})

async function secretsIn(file: string): Promise<z.output<typeof Secrets>> {
  try {
    return Secrets.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    // Without the error of the parser, which quotes the file.
    const ofSystem = error instanceof Error && 'code' in error
    const reason = ofSystem ? fileFailure(error) : 'expected a JSON object of texts'
    throw new GatewayError('SECRET_UNREADABLE', `cannot read ${file}: ${reason}`)
  }
}
