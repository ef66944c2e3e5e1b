import { definePlugin, Source } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'my-source',
  api: 1,
  version: '0.1.0',
  summary: 'Lists the MCP servers in its options.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name by which registries list this source'),
    servers: z
      .record(z.string(), z.url())
      .default({ 'com.example/hello': 'https://mcp.example.com/mcp' })
      .describe('URLs of the servers, by their names'),
  }),

  setup(gateway, { name, servers }) {
    gateway.provide(Source, {
      name,
      location: 'my-source',
      // Set `every` to read a changing list again after so many milliseconds.
      fetch: async ({ signal }) => ({ kind: 'whole', payloads: documents(servers, signal) }),
    })
  },
})

/**
 * One after the other, so that a long list is never in memory as a whole. An error half way leaves the catalogue as it
 * was: half a list removes no server.
 */
async function* documents(servers: Readonly<Record<string, string>>, signal: AbortSignal) {
  for (const [name, url] of Object.entries(servers)) {
    // Pass the signal to calls that wait for a file or the network: `readFile(path, { signal })`.
    signal.throwIfAborted()
    const remotes = [{ type: 'streamable-http', url }]
    yield Buffer.from(JSON.stringify({ name, description: 'Says hello.', version: '1.0.0', remotes }))
  }
}
