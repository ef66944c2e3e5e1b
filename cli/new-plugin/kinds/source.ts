import type { Kind } from '../kind.js'
import { contract, head } from '../test-parts.js'

export const source: Kind = {
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

  test: `${head}import { booted, contractSuite, eventually } from 'sallyport/testing'

test('its server is in the catalogue', async (t) => {
  const registries = [{ name: 'default', sources: ['mine'] }]
  const app = await booted(t, [
    { use: 'auth/anonymous' },
    { use: plugin, with: { name: 'mine' } },
    { use: 'registry/catalogue', with: { registries, stateDirectory: null } },
    { use: 'registry/api', with: { anonymous: true } },
  ])
  const url = '/registry/default/v0.1/servers/com.example%2Fhello/versions/latest'
  await eventually(async () => ((await app.inject(url)).statusCode === 200 ? true : undefined))
})
${contract("{ name: 'mine' }")}`,
}
