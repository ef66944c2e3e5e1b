import { readFile } from 'node:fs/promises'
import { definePlugin, GatewayError, Source } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'inventory',
  api: 1,
  version: '1.0.0',
  summary: 'Lists the MCP servers of an inventory in CSV, with the columns name, version and url.',
  provides: [Source],
  options: z.strictObject({
    name: z.string().min(1).describe('the name by which registries list this source'),
    path: z.string().min(1).describe('the CSV file'),
    everySeconds: z.int().positive().default(60).describe('seconds between two reads'),
  }),

  setup(gateway, { name, path, everySeconds }) {
    const file = gateway.path(path)
    gateway.provide(Source, {
      name,
      location: `inventory ${file}`,
      every: everySeconds * 1000,
      async fetch({ signal }) {
        const servers = serversIn(await readFile(file, { encoding: 'utf8', signal }))
        return { kind: 'whole', payloads: [Buffer.from(JSON.stringify(servers))] }
      },
    })
  },
})

/** An error leaves the catalogue as it was: half an inventory must not remove the other half. */
function serversIn(text) {
  const [head, ...rows] = text.trim().split(/\r?\n/)
  if (head !== 'name,version,url')
    throw new GatewayError('INVENTORY_MALFORMED', 'the first line of the inventory must be name,version,url')
  return rows.map((row) => {
    const [name, version, url] = row.split(',')
    return {
      name,
      description: 'From the inventory.',
      version,
      remotes: [{ type: 'streamable-http', url }],
    }
  })
}
