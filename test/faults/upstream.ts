import type { TestContext } from 'node:test'
import { listening } from '#kit/listening.js'

const SERVERS = 300
const PAGE = 100
const OFFICIAL = 'io.modelcontextprotocol.registry/official'

interface Version {
  readonly name: string
  readonly version: string
  status: 'active' | 'deprecated' | 'deleted'
  updatedAt: string
}

/** The key of a version in counts: each replica serves each version exactly once. */
export const keyOf = ({ name, version }: { readonly name: string; readonly version: string }): string =>
  `${name} ${version}`

/** The source of the registries under test: its documents change when the test calls `change`. */
export async function changingRegistry(t: TestContext) {
  const versions: Version[] = []
  let changes = 0
  let asked = 0
  const add = (index: number, number: number): void => {
    versions.push({
      name: `com.example/server-${index}`,
      version: `1.${number}.0`,
      status: 'active',
      updatedAt: new Date().toISOString(),
    })
  }
  for (let index = 0; index < SERVERS; index++) add(index, 0)

  const url = await listening(t, (request, response) => {
    asked++
    const query = new URL(request.url ?? '', 'http://upstream').searchParams
    const since = query.get('updated_since') ?? ''
    const found = versions.filter(({ updatedAt }) => updatedAt >= since)
    const from = Number(query.get('cursor') ?? 0)
    const next = from + PAGE < found.length ? { nextCursor: String(from + PAGE) } : {}
    const page = found.slice(from, from + PAGE)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ servers: page.map(documentOf), metadata: { count: page.length, ...next } }))
  })
  return {
    url,
    asked: () => asked,
    /** The versions that a reader gets now. */
    keys: (): readonly string[] => versions.map(keyOf),
    /** Adds a version; every fifth call also changes the status of an older one. */
    change(random: () => number): void {
      add(changes % SERVERS, 1 + Math.floor(changes / SERVERS))
      const changed = versions[Math.floor(random() * versions.length)]
      if (++changes % 5 === 0 && changed !== undefined) {
        changed.status = changes % 2 === 0 ? 'deprecated' : 'deleted'
        changed.updatedAt = new Date().toISOString()
      }
    },
  }
}

const documentOf = ({ name, version, status, updatedAt }: Version): object => ({
  server: {
    name,
    version,
    description: 'A server of the tests.',
    remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp' }],
  },
  _meta: { [OFFICIAL]: { status, publishedAt: updatedAt, updatedAt } },
})
