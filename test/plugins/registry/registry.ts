import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Entry, type FetchResult, Source, type SyncContext } from 'sallyport'
import { folder } from '#kit/folder.js'
import { plugin, providing } from '#kit/plugin.js'

/** A minimal server document. */
export const server = (name: string, version: string, more: object = {}) => ({
  name,
  version,
  description: `${name} for tests`,
  ...more,
})

export const OFFICIAL = 'io.modelcontextprotocol.registry/official'

/** A version as a registry serves it, with its metadata. */
export const wrapped = (document: object, official: object, others: object = {}) => ({
  server: document,
  _meta: { ...others, [OFFICIAL]: official },
})

/** A registry over one file, without authentication. `write` changes the file. */
export function fileRegistry(t: TestContext, documents: unknown, options: RegistryOptions = {}) {
  const path = join(folder(t), 'servers.json')
  const write = (value: unknown): void =>
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  write(documents)
  return {
    path,
    write,
    list: registryOf([{ use: 'source/file', with: { name: 'main', path, watch: false } }], ['main'], options),
  }
}

export interface RegistryOptions {
  readonly stateDirectory?: string
  readonly maxDocumentBytes?: number
  readonly syncTimeout?: string
}

export const registryOf = (
  entries: readonly Entry[],
  sources: readonly string[],
  { stateDirectory, ...options }: RegistryOptions = {},
): Entry[] => [
  { use: 'internal/server', with: { address: '127.0.0.1:0' } },
  { use: 'auth/anonymous' },
  ...entries,
  ...(stateDirectory === undefined ? [] : [{ use: 'store/sqlite', with: { directory: stateDirectory } }]),
  { use: 'registry/catalogue', with: { registries: [{ name: 'default', sources }], ...options } },
  { use: 'registry/openapi', with: { anonymous: true } },
  { use: 'registry/api', with: { anonymous: true } },
]

type FetchFunction = (context: SyncContext) => Promise<FetchResult>

/** A source with this `fetch`. */
export function sourcePlugin(name: string, fetch: FetchFunction, every?: number) {
  return providing(`source/${name}`, Source, { name, location: `test ${name}`, every, fetch: fetch })
}

/** Routes of the internal port at `/internal` of the main one, for tests without sockets. */
export const internalRoutes = plugin('internal-routes', ({ http, internal }) => {
  http.all('/internal/*', async ({ method, url, headers: { origin } }, reply) => {
    const answer = await internal.inject({
      method: method as 'GET',
      url: url.replace('/internal', ''),
      headers: { ...(origin !== undefined && { origin }) },
    })
    const { 'content-length': _, ...headers } = answer.headers
    return reply.code(answer.statusCode).headers(headers).send(answer.body)
  })
})

export const payload = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

export const one = server('a.example/one', '1.0.0')
export const two = server('a.example/two', '1.0.0')

export const BASE = '/registry/default/v0.1/servers'

/** Has `internalRoutes` sync the source `main`. */
export const sync = { method: 'POST', url: '/internal/sync/main' } as const

export interface ListBody {
  readonly servers: readonly {
    readonly server: { readonly name: string; readonly version: string }
    readonly _meta: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }[]
  readonly metadata: { readonly count: number; readonly nextCursor?: string }
}

export const idsIn = ({ servers }: ListBody): string[] =>
  servers.map(({ server: { name, version } }) => `${name}@${version}`)
