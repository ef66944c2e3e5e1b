import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { TestContext } from 'node:test'
import { issuing } from '#kit/issuer.js'
import { type Program, program } from '#kit/program.js'
import { type Kind, type Origin, thirdParty } from './third-party.js'

type Place = 'added' | 'before' | 'after' | 'replaces'

/** A third-party plugin in a list: its source, its position, the entry beside it, and its options. */
export type Row = readonly [kind: Kind, origin: Origin, place: Place, neighbour?: string, options?: object]

/** Every secret of the settings: the printed list has it as ***. */
export const SECRET = 'only-for-this-test'
const KEY = { key: SECRET }

/** What is in the list of each program. */
export const rows = {
  registry: [
    ['Listener', 'file', 'replaces', 'listen/http'],
    ['Guard', 'package', 'before', 'guard/origin'],
    ['IssuerMetadata', 'package', 'replaces', 'discovery/issuer', { keys: 'KEYS' }],
    ['Authenticator', 'path', 'before', 'auth/oidc', KEY],
    ['BrowserSession', 'package', 'added'],
    ['PublicPath', 'file', 'after', 'auth/oidc', { path: '/registry/open' }],
    ['Limiter', 'file', 'added'],
    ['ResourceMetadata', 'path', 'added'],
    ['Source', 'package', 'replaces', 'source:own'],
    ['CatalogueStore', 'file', 'added'],
    ['AccessSink', 'path', 'replaces', 'log/access'],
    ['AuditSink', 'file', 'before', 'internal/metrics'],
    ['Telemetry', 'path', 'after', 'internal/metrics'],
    ['Tracer', 'package', 'added'],
    ['Health', 'package', 'added'],
    ['BackgroundTask', 'file', 'added'],
    ['Revocation', 'path', 'added'],
  ],
  'registry with a catalogue': [
    ['Authenticator', 'file', 'replaces', 'auth/oidc', KEY],
    ['Challenge', 'path', 'replaces', 'discovery/resource'],
    ['ServerCatalogue', 'file', 'replaces', 'registry/catalogue'],
    ['PublicAddress', 'package', 'before', 'internal/metrics'],
    ['Tunnel', 'path', 'before', 'guard/host'],
  ],
  'registry with publications': [
    ['PublicationStore', 'path', 'replaces', 'store/sqlite'],
    ['ManagedSource', 'package', 'added'],
    ['Source', 'file', 'replaces', 'source:own'],
  ],
  'registry with a broker': [
    ['LoginProvider', 'file', 'replaces', 'login/oidc'],
    ['Source', 'path', 'replaces', 'source:own'],
  ],
  proxy: [
    ['Listener', 'package', 'replaces', 'listen/http'],
    ['Guard', 'file', 'after', 'guard/origin'],
    ['IssuerMetadata', 'path', 'before', 'discovery/issuer', { keys: 'KEYS' }],
    ['Authenticator', 'package', 'after', 'auth/oidc', KEY],
    ['PublicPath', 'path', 'before', 'auth/oidc', { path: '/open' }],
    ['Limiter', 'path', 'before', 'forward/http'],
    ['Policy', 'file', 'before', 'forward/http'],
    ['ResourceMetadata', 'file', 'before', 'discovery/resource'],
    ['Credential', 'path', 'after', 'credential/static-bearer'],
    ['HeaderSource', 'package', 'after', 'headers/static'],
    ['SecretStore', 'path', 'replaces', 'secrets/keyring'],
    ['AccessSink', 'file', 'after', 'log/access'],
    ['AuditSink', 'package', 'added'],
    ['Telemetry', 'file', 'added'],
    ['Tracer', 'path', 'before', 'forward/http'],
    ['Health', 'path', 'before', 'internal/metrics'],
    ['BackgroundTask', 'package', 'added'],
    ['PublicAddress', 'file', 'after', 'internal/server'],
    ['Revocation', 'file', 'added'],
  ],
  'proxy with a broker': [
    ['LoginProvider', 'path', 'replaces', 'login/oidc'],
    ['StateStore', 'file', 'replaces', 'state/sqlite'],
  ],
  'proxy with an exchange': [
    ['Authenticator', 'file', 'replaces', 'auth/anonymous'],
    ['CallerTokens', 'package', 'added'],
  ],
  'proxy with a login': [
    ['Authenticator', 'path', 'replaces', 'auth/oidc', KEY],
    ['Challenge', 'package', 'replaces', 'discovery/resource'],
    ['Tunnel', 'file', 'before', 'guard/host'],
    ['StateStore', 'path', 'replaces', 'state/sqlite'],
    ['ClientRegistrar', 'package', 'before', 'registrar/remembered'],
  ],
  'proxy stdio': [
    ['Authenticator', 'package', 'replaces', 'auth/anonymous'],
    ['Guard', 'path', 'added'],
    ['Limiter', 'package', 'added'],
    ['Policy', 'path', 'added'],
    ['Credential', 'file', 'replaces', 'credential/static-bearer'],
    ['HeaderSource', 'path', 'before', 'headers/static'],
    ['SecretStore', 'package', 'after', 'secrets/environment'],
    ['AccessSink', 'package', 'added'],
    ['AuditSink', 'path', 'after', 'forward/http'],
    ['Telemetry', 'package', 'added'],
    ['Tracer', 'file', 'added'],
    ['BackgroundTask', 'file', 'added'],
    ['Revocation', 'package', 'added'],
  ],
  'proxy stdio with a login': [
    ['StateStore', 'package', 'replaces', 'state/sqlite'],
    ['ClientRegistrar', 'file', 'replaces', 'registrar/dynamic'],
  ],
} as const satisfies Readonly<Record<string, readonly Row[]>>

export type Name = keyof typeof rows
/** A started program of one list, and what it shows outside. */
export interface Running {
  readonly started: Program
  readonly input: PassThrough
  readonly home: string
}

interface Setting {
  readonly words: readonly string[]
  /** The settings beside the plugins. */
  readonly settings: object
  /** Further plugins of ours. */
  readonly further?: readonly object[]
  /** Where the keys of the issuer are. */
  readonly keys?: string
  /** What is seen of each plugin from outside. */
  readonly look: (running: Running) => Promise<void>
}

/** Looks at the program, and once more at `run` with the list that it prints. */
export async function lookTwice(t: TestContext, name: Name, setting: Setting): Promise<void> {
  const { words, settings, further = [], keys = '', look } = setting
  const { home, use } = thirdParty(t)
  const list: readonly Row[] = rows[name]
  const plugins = list.map(([kind, origin, place, neighbour, options]) => ({
    use: use(kind, origin),
    ...(place !== 'added' && { [place]: neighbour }),
    ...(options !== undefined && { with: JSON.parse(JSON.stringify(options).replace('KEYS', keys)) }),
  }))
  const written = JSON.stringify({ ...settings, plugins: [...plugins, ...further] })
  writeFileSync(join(home, 'preset.json'), written)
  const surroundings = { patience: 60, environment: { XDG_STATE_HOME: join(home, 'unused') } }
  const start = (input: PassThrough, ...argv: readonly string[]): Program =>
    program(t, argv, { ...surroundings, input })

  const printing = start(
    new PassThrough(),
    ...words,
    '--config',
    join(home, 'preset.json'),
    '--print-plugins',
  )
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  const printed = printing.output.stdout
  assert.doesNotMatch(printed, new RegExp(SECRET))
  writeFileSync(join(home, 'run.yaml'), printed.replaceAll('"***"', SECRET))

  for (const argv of [
    [...words, '--config', join(home, 'preset.json')],
    ['run', '--config', join(home, 'run.yaml')],
  ]) {
    rmSync(join(home, 'notes.txt'), { force: true })
    const input = new PassThrough()
    const started = start(input, ...argv)
    await look({ started, input, home })
    started.stop()
    assert.equal(await started.ended(), 0, started.output.stderr)
    if (list.some(([kind]) => kind === 'BackgroundTask')) assert.match(notes(home), /^BackgroundTask ended$/m)
  }
}

export const notes = (home: string): string => readFileSync(join(home, 'notes.txt'), 'utf8')

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Unlike `fetch` it may say another `Host`. */
export const ask = (url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
      .on('error', reject)
      .end()
  })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const own = bearer(SECRET)

/** What is seen of plugins that a registry and a proxy have alike. */
export async function lookAtEdge({ started, home }: Running, path: string, token: string): Promise<void> {
  const url = await started.ready()
  const internal = /health and metrics on (http:\S+)\)/.exec(started.output.stdout)?.[1] ?? ''
  const closed = await ask(url + path)
  assert.equal(closed.status, 401)
  assert.match(String(closed.headers['keep-alive']), /timeout=7/, 'Listener')
  assert.equal((await ask(url + path, bearer(token))).status, 200, started.output.stderr)
  assert.equal((await ask(url + path, own)).status, 200, 'Authenticator')
  assert.equal((await ask(url + path, bearer('guess'))).status, 401)
  const refused = await ask(url + path, { ...own, 'x-refuse': 'yes' })
  assert.deepEqual([refused.status, JSON.parse(refused.text).error], [403, 'own_refusal'], 'Guard')
  const metadata = /resource_metadata="[a-z]+:\/\/[^/]+([^"]*)"/.exec(
    String(closed.headers['www-authenticate']),
  )
  const document = JSON.parse((await ask(url + (metadata?.[1] ?? ''))).text)
  assert.equal(document.own_field, 'of a third party', 'ResourceMetadata')
  const readiness = (await ask(`${internal}/readiness`)).text
  assert.match(readiness, /"own".*of a third party/, 'Health')
  assert.match(notes(home), /^Limiter nobody$/m)
  assert.match(notes(home), /^Limiter \["own","friend"\]$/m)
  assert.match(notes(home), /^AuditSink refused$/m)
  assert.match(notes(home), /^AccessSink 401$/m)
  assert.match(notes(home), /^Telemetry \w+$/m)
  assert.match(notes(home), /^Tracer denied$/m)
  assert.match(notes(home), /^Revocation asked about friend$/m)
}

/** An issuer that publishes its keys alone. */
export async function withoutDiscovery(t: TestContext) {
  const issuer = await issuing(t)
  issuer.faults.set(issuer.paths.discovery, (_request, response) => response.writeHead(404).end())
  return { issuer, keys: issuer.origin + issuer.paths.keys, token: await issuer.jwt() }
}

/** The tunnel of a third party, kept open, and its address in the guard. */
export const tunnelled = [
  { use: 'tunnel/connection', after: 'guard/host' },
  { use: 'guard/host', with: { loopback: true, public: true }, replaces: 'guard/host' },
]
