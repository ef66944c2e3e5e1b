import type { pluginKinds } from '../options/plugin.js'

export type PluginKind = (typeof pluginKinds)[number]

/** What a new plugin begins as, by its kind; `NAME` is its name. */
export const sources: Readonly<Record<PluginKind, string>> = {
  guard: `import { definePlugin, Guard, Refusal } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Refuses requests whose path is longer than allowed.',
  provides: [Guard],
  options: z.strictObject({
    longest: z.int().positive().default(2048).describe('the most characters that a path may have'),
  }),

  setup(gateway, { longest }) {
    gateway.provide(Guard, ({ url }) => {
      if (url.length <= longest) return
      throw new Refusal(403, 'PATH_TOO_LONG', 'this path is too long')
    })
  },
})
`,

  authenticator: `import { createHash, timingSafeEqual } from 'node:crypto'
import { Authenticator, definePlugin, secretFrom, secretText } from 'sallyport'
import { z } from 'zod'

const digest = (text: string) => createHash('sha256').update(text).digest()

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Accepts one key, sent as a bearer token.',
  provides: [Authenticator],
  options: z.strictObject({
    name: z.string().min(1).default('NAME').describe('the provider in logs and metrics'),
    key: secretText().describe('the key that is accepted'),
    subject: z.string().min(1).default('key').describe('who its holder is taken for'),
  }),

  setup(gateway, { name, key: written, subject }) {
    const key = secretFrom({ value: written }, { scrubber: gateway.scrubber })
    gateway.onStop(() => key?.close())
    gateway.provide(Authenticator, {
      provider: name,
      authenticate({ credentials }) {
        if (credentials.kind !== 'bearer') return { rejection: { kind: 'notMine', cause: 'missing' } }
        // Of equal length and in equal time, whatever was sent.
        const equal = key !== undefined && timingSafeEqual(digest(credentials.token), digest(key.reveal()))
        return equal
          ? { identity: { provider: name, subject, claims: {} } }
          : { rejection: { kind: 'notMine', cause: 'unknown' } }
      },
    })
  },
})
`,

  source: `import { definePlugin, Source } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Lists one MCP server, whose URL is given.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name that registries list it by'),
    server: z.string().default('com.example/hello').describe('the name of the server'),
    url: z.url().default('https://mcp.example.com/mcp').describe('where the server is'),
  }),

  setup(gateway, { name, server, url }) {
    gateway.provide(Source, {
      name,
      place: server,
      async fetch() {
        const document = {
          name: server,
          description: 'Says hello.',
          version: '1.0.0',
          remotes: [{ type: 'streamable-http', url }],
        }
        return { kind: 'whole', payloads: [Buffer.from(JSON.stringify([document]))] }
      },
    })
  },
})
`,

  credential: `import { Credential, definePlugin, secretFrom, secretText, UpstreamError } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Sends an API key to the target, in a header of its own.',
  provides: [Credential],
  options: z.strictObject({
    key: secretText().optional().describe('the key; a file is safer'),
    keyFile: z.string().min(1).optional().describe('file that holds the key; read again when it changes'),
    header: z.string().toLowerCase().default('x-api-key').describe('the header that carries it'),
  }),

  setup(gateway, { key: value, keyFile, header }) {
    const { log, scrubber } = gateway
    const file = keyFile === undefined ? undefined : gateway.path(keyFile)
    const key = secretFrom({ value, file }, { log, scrubber })
    gateway.onStop(() => key?.close())
    gateway.provide(Credential, {
      name: 'NAME',
      present() {
        // Without one the target is not asked: a request never goes out bare.
        if (key === undefined) throw new UpstreamError('KEY_MISSING', 'there is no key for the target', { statusCode: 503 })
        return { header, value: key.reveal() }
      },
    })
  },
})
`,

  secrets: `import { readFile } from 'node:fs/promises'
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

  headers: `import { definePlugin, HeaderSource } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Tells the target which gateway a request came through.',
  provides: [HeaderSource],
  options: z.strictObject({
    gateway: z.string().min(1).default('gateway').describe('the name of this gateway'),
  }),

  setup(gateway, { gateway: own }) {
    const headers = [['x-gateway', own]] as const
    gateway.provide(HeaderSource, { names: ['x-gateway'], headers: () => headers })
  },
})
`,

  audit: `import { AuditSink, definePlugin } from 'sallyport'

export default definePlugin({
  name: 'NAME',
  api: 1,
  version: '0.1.0',
  summary: 'Writes a line to the log for every request that was refused.',
  provides: [AuditSink],

  setup(gateway) {
    gateway.provide(AuditSink, ({ kind, route, causes }) => {
      if (kind === 'refused') gateway.log.info({ route, causes }, 'refused')
    })
  },
})
`,
}
