import type { TestContext } from 'node:test'
import { type AuditEvent, AuditSink, type Entry } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { type Issuer, issuing } from '#kit/issuer.js'
import { providing } from '#kit/plugin.js'
import { server } from './registry.js'

export const ROOT = '/registry/default/v0.1'

interface Given {
  readonly publishers?: readonly object[]
  readonly options?: object
  readonly catalogue?: object
  /** Sources beside the managed one, and the order of all of them in the registry. */
  readonly sources?: readonly Entry[]
  readonly order?: readonly string[]
  readonly further?: readonly Entry[]
  readonly store?: Entry
  /** In the place of `source/managed`. */
  readonly managed?: Entry
}

export const EVERYTHING = [{ when: { sub: 'somebody' }, names: ['*'], may: ['publish', 'edit'] }]

/** The entries of a registry that takes publications, behind tokens of an issuer. */
export function publishingList(t: TestContext, issuer: Issuer, given: Given = {}): Entry[] {
  const { publishers = EVERYTHING, sources = [], order = ['published'], further = [] } = given
  return [
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'registry/openapi' },
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: issuer.provider },
    given.store ?? { use: 'store/sqlite', with: { directory: folder(t) } },
    ...sources,
    given.managed ?? { use: 'source/managed', with: { name: 'published' } },
    {
      use: 'registry/catalogue',
      with: {
        registries: [
          { name: 'default', sources: order },
          { name: 'reading', sources: order.filter((name) => name !== 'published') },
        ],
        ...given.catalogue,
      },
    },
    { use: 'registry/publish', with: { publishers, ...given.options } },
    { use: 'registry/api' },
    ...further,
  ]
}

/** A registry that takes publications, and what its audit and log have. */
export async function publishing(t: TestContext, given: Given = {}) {
  const issuer = await issuing(t)
  const events: AuditEvent[] = []
  const sink = providing('audit/test', AuditSink, (event) => void events.push(event))
  const { log, lines } = recordedLog()
  const list = publishingList(t, issuer, { ...given, further: [sink, ...(given.further ?? [])] })
  const app = await booted(t, list, { log })
  const token = await issuer.jwt()

  const send = (
    method: 'POST' | 'PATCH' | 'DELETE' | 'GET',
    path: string,
    body?: unknown,
    { authorization = `Bearer ${token}`, ...headers }: Record<string, string | undefined> = {},
  ) =>
    app.inject({
      method,
      url: path.startsWith('/registry') ? path : ROOT + path,
      headers: {
        ...(authorization !== '' && { authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
      },
      ...(body !== undefined && {
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    })
  const publish = (body: unknown, headers: Record<string, string | undefined> = {}) =>
    send('POST', '/publish', body, headers)
  const get = (name: string, version: string, query = '') =>
    send('GET', `/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}${query}`)
  return { app, issuer, events, lines, token, send, publish, get }
}
export const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

/** A document that is good in every respect. */
export const document = (version = '1.0.0', more: object = {}) =>
  server('com.example/search', version, {
    $schema: SCHEMA,
    ...more,
  })
