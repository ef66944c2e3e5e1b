import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from '#kit/folder.js'
import { twoFreePorts } from '#kit/free-port.js'
import type { Issuer } from '#kit/issuer.js'
import { type StartedProgram, startedProgram } from '#kit/started-program.js'
import { server } from './registry.js'

export const API = '/registry/default/v0.1'

/** The caller with this claim may do everything below `com.example/`. */
export const PLATFORM = { groups: ['platform'] }

interface Given {
  /** The state of the process before this one, or of another replica. */
  readonly home?: string
  readonly settings?: object
  readonly hostname?: string
}

export interface PublishingProgram {
  readonly process: StartedProgram
  readonly origin: string
  /** The internal port. */
  readonly internal: string
  readonly home: string
}

/** `sallyport registry` with a managed source, in a process of its own. */
export async function publishingProgram(
  t: TestContext,
  issuer: Issuer,
  { home = folder(t), settings = {}, hostname }: Given = {},
): Promise<PublishingProgram> {
  const [mainPort, internalPort] = await twoFreePorts()
  const [main, internal] = [`http://127.0.0.1:${mainPort}`, `http://127.0.0.1:${internalPort}`]
  const config = folder(t, {
    'registry.yaml': JSON.stringify({
      address: new URL(main).host,
      internalAddress: new URL(internal).host,
      auth: { oauth: { resourceUrl: main, providers: [issuer.provider] } },
      sources: [{ name: 'published', managed: {} }],
      publishers: [{ when: { groups: 'platform' }, names: ['com.example/*'], may: ['publish', 'edit'] }],
      stateDirectory: join(home, 'registry'),
      accessLog: 'off',
      ...settings,
    }),
  })
  const process = startedProgram(t, ['registry', '--config', join(config, 'registry.yaml')], {
    environment: { XDG_STATE_HOME: home },
    patience: 30,
    ...(hostname !== undefined && { hostname }),
  })
  return { process, origin: await process.ready(), internal, home }
}

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

/** A document that is published without an issue. */
export const publishable = (name: string, version: string, more: object = {}) => ({
  $schema: SCHEMA,
  ...server(name, version),
  remotes: [{ type: 'streamable-http', url: 'https://weather.example.com/mcp' }],
  ...more,
})

/** Sends a document, as the text that it is. */
export const publishTo = (origin: string, token: string, document: object | string): Promise<Response> =>
  fetch(`${origin}${API}/publish`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: typeof document === 'string' ? document : JSON.stringify(document),
  })

export interface ServedVersion {
  readonly server: { readonly name: string; readonly version: string }
  readonly _meta: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Every version that a registry serves, page after page. */
export async function allServed(origin: string, token: string): Promise<readonly ServedVersion[]> {
  const found: ServedVersion[] = []
  let cursor: string | undefined
  do {
    const query = new URLSearchParams({ limit: '100', ...(cursor !== undefined && { cursor }) })
    const response = await fetch(`${origin}${API}/servers?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const body = (await response.json()) as {
      servers: ServedVersion[]
      metadata: { nextCursor?: string }
    }
    found.push(...body.servers)
    cursor = body.metadata.nextCursor
  } while (cursor !== undefined)
  return found
}
