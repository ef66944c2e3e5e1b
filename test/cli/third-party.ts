import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folder } from '#kit/folder.js'

const document = (name: string): string =>
  JSON.stringify({ name: `com.example/${name}`, description: 'Of a third party.', version: '1.0.0' })

/**
 * A plugin of a third party for each capability: the value that it provides. Each has an effect that is seen from
 * outside; `note` writes a line to a file beside the configuration, for those that answer no request.
 */
const VALUES = {
  AccessSink: `{ from: 0, ended: ({ status }) => note(status) }`,
  AuditSink: `({ kind }) => note(kind)`,
  Authenticator: `{
    provider: 'own',
    authenticate: ({ credentials }) => options.key === undefined || credentials.token === options.key
      ? { identity: { provider: 'own', subject: 'friend', claims: { sub: 'friend' } } }
      : { rejection: { kind: 'notMine', cause: 'key' } },
  }`,
  BrowserSession: `{
    token: ({ headers }) => headers['x-own-session'],
    person: ({ headers }) => headers['x-own-session'] && 'friend',
    signInPath: () => '/own-sign-in',
    signOutPath: '/own-sign-out',
  }`,
  BackgroundTask: `{ over: new Promise((over) => { end = over }), end: () => { note('ended'); end() } }`,
  CallerTokens: `async () => ({ access: 'held', holder: 'friend', expiresAt: Date.now() + 60_000 })`,
  CatalogueStore: `{
    open: ({ name }) => ({ read: async () => undefined, write: async () => { note('wrote ' + name); return 0 } }),
  }`,
  Challenge: `{ header: () => 'Own realm="third party"' }`,
  ClientRegistrar: `{ name: 'own', register: async ({ issuer }) => ({ issuer, clientId: 'own-client' }) }`,
  Credential: `{ name: 'own', present: () => ({ header: 'authorization', value: 'Bearer own' }) }`,
  Guard: `({ headers }) => {
    note('asked')
    if (headers['x-refuse'] !== undefined) throw new Refusal(403, 'OWN_REFUSAL', 'not here')
  }`,
  HeaderSource: `{ names: ['x-own'], headers: () => [['x-own', 'added']] }`,
  Health: `{ name: 'own', check: () => ({ status: 'degraded', reason: 'of a third party' }) }`,
  IssuerMetadata: `async (issuer) => ({ issuer, jwks_uri: options.keys })`,
  Limiter: `{ take: ({ caller = 'nobody' }) => (note(caller), 0) }`,
  Listener: `{ port: 'main', address: '127.0.0.1:0', keepAliveTimeout: 7_000 }`,
  LoginProvider: `{
    idp: 'https://own.example',
    name: 'own.example',
    accountsOf: 'organisation',
    begin: async (redirectUri) => ({ url: redirectUri + '?state=own', state: 'own', checks: 'own' }),
    finish: async () => ({ subject: 'friend', claims: { name: 'Friend' }, tokens: { access: 'held' } }),
    refresh: async (login) => login,
  }`,
  ManagedSource: `{
    name: 'own',
    publications: () => ({ history: async (name) => { note('asked for ' + name); return [] } }),
  }`,
  Policy: `{
    judge: ({ call }) => { note('judged ' + call.method); return { allowed: true } },
    shows: (_caller, listed) => listed.map(() => true),
  }`,
  PublicAddress: `{
    origin: 'https://address.example',
    watch: (changed) => changed('https://address.example'),
  }`,
  PublicationStore: `{
    open: (source) => {
      note('opened ' + source)
      return { location: 'own', read: async () => ({ kind: 'whole', payloads: [], revision: () => '1' }), watch: () => () => {} }
    },
  }`,
  PublicPath: `options.path`,
  ResourceMetadata: `{ own_field: 'of a third party' }`,
  Revocation: `{
    standing: ({ subject }) => { note('asked about ' + subject); return 'good' },
    onRevoked: () => () => {},
    signIns: async () => [],
    revoke: async () => 0,
  }`,
  SecretStore: `{ name: 'own', get: async (name) => (name === 'own-secret' ? 'of the store' : undefined) }`,
  ServerCatalogue: `(() => {
    const json = Buffer.from('{"server":${document('of-the-catalogue')},"_meta":{}}')
    const name = 'com.example/of-the-catalogue'
    const versions = [{ name, version: '1.0.0', status: 'active', isLatest: true, json, tag: 'one' }]
    const view = { name: 'default', list: () => ({ versions }), versions: () => versions }
    return { names: ['default'], registry: (name) => (name === 'default' ? view : undefined) }
  })()`,
  Source: `{
    name: 'own',
    location: 'own',
    fetch: async () => ({ kind: 'whole', payloads: [Buffer.from('${document('of-the-source')}')] }),
  }`,
  StateStore: `{
    get: async (key) => all()[key],
    set: async (key, value) => save({ ...all(), [key]: value }),
    take: async (key) => { const { [key]: value, ...rest } = all(); save(rest); return value },
    delete: async (key) => { const { [key]: _, ...rest } = all(); save(rest) },
    keys: async (prefix) => Object.keys(all()).filter((key) => key.startsWith(prefix)),
    locked: (_key, work) => work(),
  }`,
  Telemetry: `{ measure: ({ name }) => note(name) }`,
  Tracer: `{
    start: () => ({
      traceId: 'a'.repeat(32),
      sampled: false,
      headers: [['traceparent', \`00-\${'a'.repeat(32)}-\${'b'.repeat(16)}-00\`]],
      part: () => {},
      end: ({ outcome }) => note(outcome),
    }),
  }`,
  Tunnel: `{
    name: 'own',
    key: 'own',
    open: async () => ({ url: 'https://tunnel.example', lost: new Promise(() => {}), close: async () => {} }),
  }`,
} as const

export type Kind = keyof typeof VALUES

export const kinds = Object.keys(VALUES) as Kind[]

/** How a list names a plugin: a file beside it, an installed package, or a file of a folder elsewhere. */
export type Origin = 'file' | 'package' | 'path'

const sourceOf = (kind: Kind): string => `
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { ${kind}, Refusal } from 'sallyport'

const properties = { key: { type: 'string', writeOnly: true }, keys: { type: 'string' }, path: { type: 'string' } }
const jsonSchema = { input: () => ({ type: 'object', properties }) }
const options = { '~standard': { version: 1, vendor: 'own', validate: (value = {}) => ({ value }), jsonSchema } }

export default { name: 'own-${kind}', api: 1, provides: [${kind}], options,
  setup(gateway, options) {
    let end
    const note = (text) => appendFileSync(gateway.path('notes.txt'), '${kind} ' + text + '\\n')
    const file = gateway.path('state.json')
    const all = () => { try { return JSON.parse(readFileSync(file, 'utf8')) } catch { return {} } }
    const save = (values) => writeFileSync(file, JSON.stringify(values))
    gateway.provide(${kind}, ${VALUES[kind]})
  } }
`

/** A folder with these files and the plugins of a third party, and what a list there calls each of them. */
export function thirdParty(t: TestContext) {
  const written = (name: (kind: Kind) => string) => kinds.map((kind) => [name(kind), sourceOf(kind)])
  const elsewhere = folder(t, Object.fromEntries(written((kind) => `${kind}.mjs`)))
  const packages = kinds.map((kind) => [
    `node_modules/own-${kind.toLowerCase()}/package.json`,
    JSON.stringify({ type: 'module', exports: './index.js' }),
  ])
  const home = folder(
    t,
    Object.fromEntries([
      ...packages,
      ...written((kind) => `own/${kind}.mjs`),
      ...written((kind) => `node_modules/own-${kind.toLowerCase()}/index.js`),
    ]),
  )
  const use = (kind: Kind, origin: Origin): string =>
    ({
      file: `./own/${kind}.mjs`,
      package: `own-${kind.toLowerCase()}`,
      path: join(elsewhere, `${kind}.mjs`),
    })[origin]
  return { home, use }
}
