import type { Kind } from '../kind.js'

export const secrets: Kind = {
  source: `import { readFile } from 'node:fs/promises'
import { definePlugin, GatewayError, SecretStore } from 'sallyport'
import { z } from 'zod'

const Values = z.record(z.string(), z.string())

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Reads secrets from one JSON file, by their names in it.',
  provides: [SecretStore],
  options: z.strictObject({ file: z.string().min(1).describe('a JSON object: name to secret') }),

  setup(gateway, options) {
    const file = gateway.path(options.file)
    gateway.provide(SecretStore, {
      name: 'NAME',
      async get(name) {
        try {
          const values = Values.parse(JSON.parse(await readFile(file, 'utf8')))
          // Own names only: \`constructor\` is no secret.
          return Object.hasOwn(values, name) ? values[name] : undefined
        } catch (cause) {
          // Without what is in it: the error of a parser repeats pieces of the file.
          const message = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it is no JSON object of texts'
          throw new GatewayError('SECRET_UNREADABLE', \`cannot read \${file}: \${message}\`)
        }
      },
    })
  },
})
`,

  test: `import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import plugin from './index.js'
import { contractSuite } from 'sallyport/testing'

contractSuite('NAME', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'secrets.json')
  writeFileSync(file, '{"db":"the password of it"}', { mode: 0o600 })
  return { list: [{ use: plugin, with: { file } }], facts: { secret: { name: 'db', value: 'the password of it' } } }
})
`,
}
