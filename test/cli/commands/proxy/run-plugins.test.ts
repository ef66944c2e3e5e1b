import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { TunnelSettings } from 'sallyport/presets/tunnel'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { startAuthorizationServer } from '../../../plugins/credential/oauth/authorization-server.js'

const KEYS = `
  import { Authenticator } from 'sallyport'
  export default { name: 'keys', api: 1, provides: [Authenticator],
    setup: (gateway) => gateway.provide(Authenticator, {
      provider: 'keys',
      authenticate: ({ credentials }) => credentials.kind === 'bearer' && credentials.token === 'key'
        ? { identity: { provider: 'keys', subject: 'friend', claims: {} } }
        : { rejection: { kind: 'invalid', cause: 'key' } },
    }) }`

const NOTHING = `export default { name: 'nothing', api: 1, setup() {} }`

/** A store in one file: what a login leaves there is found by the next process. */
const STORE = `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { StateStore } from 'sallyport'
  const options = { '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }) } }
  export default { name: 'own-store', api: 1, provides: [StateStore], options,
    setup(gateway, { file }) {
      const path = gateway.path(file)
      const all = () => { try { return JSON.parse(readFileSync(path, 'utf8')) } catch { return {} } }
      const save = (values) => writeFileSync(path, JSON.stringify(values))
      gateway.provide(StateStore, {
        get: async (key) => all()[key],
        set: async (key, value) => save({ ...all(), [key]: value }),
        take: async (key) => { const { [key]: value, ...rest } = all(); save(rest); return value },
        delete: async (key) => { const { [key]: _, ...rest } = all(); save(rest) },
        keys: async (prefix) => Object.keys(all()).filter((key) => key.startsWith(prefix)),
        locked: (_key, work) => work(),
      })
    } }`

/** A target that answers with the credential that it got. */
const echoing = (t: TestContext): Promise<string> =>
  listening(t, (request, response) => void response.end(request.headers.authorization ?? 'none'))

const asked = async (url: string, token?: string): Promise<readonly [number, string]> => {
  const headers = new Headers(token === undefined ? [] : [['authorization', `Bearer ${token}`]])
  const response = await fetch(url, { headers })
  return [response.status, response.status === 200 ? await response.text() : '']
}

test('an authenticator of a folder replaces the anonymous one, and its keys are not forwarded', async (t) => {
  const origin = await echoing(t)
  const home = folder(t, {
    'keys.mjs': KEYS,
    'proxy.yaml': `targetUri: ${origin}\nplugins: [{ use: ./keys.mjs, replaces: auth/anonymous }]\n`,
  })
  const started = program(t, ['proxy', 'mine', '--config', join(home, 'proxy.yaml')], { patience: 60 })
  const url = await started.ready()
  assert.deepEqual(await asked(url), [401, ''])
  assert.deepEqual(await asked(url, 'guess'), [401, ''])
  assert.deepEqual(await asked(url, 'key'), [200, 'none'])
})

test('a plugin that replaces the only authenticator and provides none lets no caller in', async (t) => {
  const origin = await echoing(t)
  const home = folder(t, {
    'nothing.mjs': NOTHING,
    'proxy.yaml': `targetUri: ${origin}
oidcIssuer: https://idp.example.com
oidcAudience: mcp
plugins: [{ use: ./nothing.mjs, replaces: auth/oidc }]
`,
  })
  const started = program(t, ['proxy', 'mine', '--config', join(home, 'proxy.yaml')], { patience: 60 })
  const url = await started.ready()
  assert.deepEqual(await asked(url), [401, ''])
  assert.deepEqual(await asked(url, 'key'), [401, ''])
})

test('an added plugin opens no gateway that the settings close', () => {
  const target = { targetUri: 'https://mcp.example.com/mcp' }
  const issuer = { oidcIssuer: 'https://idp.example.com', oidcAudience: 'mcp' }
  const complaints = (schema: typeof ProxySettings | typeof TunnelSettings, written: object): string[] =>
    schema.safeParse({ ...target, ...written }).error?.issues.map(({ path }) => path.join('.')) ?? []
  const anybody = [{ use: 'auth/anonymous', replaces: 'auth/oidc' }]
  const beside = [{ use: 'auth/anonymous', id: 'open', after: 'auth/oidc' }]
  const lending = {
    host: '0.0.0.0',
    resourceUrl: 'https://mcp.example.com/mcp',
    remoteAuthBearerToken: 'token',
  }
  for (const plugins of [anybody, beside]) {
    assert.deepEqual(complaints(ProxySettings, { ...issuer, ...lending, plugins }), ['host'])
    assert.deepEqual(complaints(TunnelSettings, { ...issuer, tunnelProvider: './x.js', plugins }), [
      'oidcIssuer',
    ])
    const list = proxy(ProxySettings.parse({ ...target, ...issuer, plugins }))
    assert.equal(optionOf(list, 'forward/http', 'forwardAuthorization'), false)
  }
  const keys = [{ use: './keys.js', replaces: 'auth/anonymous' }]
  assert.deepEqual(complaints(ProxySettings, { ...lending, plugins: keys }), [])
  const again = [...keys, { use: 'auth/anonymous', after: './keys.js' }]
  assert.deepEqual(complaints(ProxySettings, { ...lending, plugins: again }), ['host'])

  const settings = { auth: { mode: 'anonymous' }, plugins: keys }
  // The authenticators say whether callers are asked.
  assert.equal(optionOf(registry(RegistrySettings.parse(settings)), 'registry/api', 'anonymous'), undefined)
})

const optionOf = (list: readonly object[], use: string, option: string): unknown => {
  const entry = list.find((item) => Reflect.get(item, 'use') === use)
  return Reflect.get(Reflect.get(entry ?? {}, 'with') ?? {}, option)
}

test('a login that a state store of a package keeps survives a restart', async (t) => {
  const server = await startAuthorizationServer(t)
  const home = folder(t, {
    'node_modules/own-store/index.js': STORE,
    'node_modules/own-store/package.json': '{"name":"own-store","type":"module","exports":"./index.js"}',
    'proxy.yaml': `targetUri: ${server.target}
remoteAuth: true
remoteAuthSkipBrowser: true
remoteAuthCallbackPort: 0
plugins: [{ use: own-store, with: { file: ./state.json }, replaces: state/sqlite }]
`,
  })
  const argv = ['proxy', 'mine', '--config', join(home, 'proxy.yaml')]
  const surroundings = { environment: { XDG_STATE_HOME: join(home, 'unused') }, patience: 60 }
  const ask = async (url: string) => (await fetch(url, { method: 'POST', body: '{}' })).status

  const first = program(t, argv, surroundings)
  const url = await first.ready()
  await fetch(await first.until(/(?<=^Open this URL to sign in: )\S+$/m))
  assert.equal(await ask(url), 200, first.output.stderr)
  first.stop()
  assert.equal(await first.ended(), 0)

  const second = program(t, argv, surroundings)
  assert.equal(await ask(await second.ready()), 200, second.output.stderr)
  assert.equal(server.times('/authorize'), 1)

  const listing = program(t, ['auth', 'list', '--config', join(home, 'proxy.yaml')], surroundings)
  assert.equal(await listing.ended(), 0, listing.output.stderr)
  assert.match(listing.output.stdout, new RegExp(`^${server.target}: client `))
})

test('`run` boots the printed list unchanged', async (t) => {
  const origin = await echoing(t)
  const home = folder(t, {
    'keys.mjs': KEYS,
    'proxy.yaml': `targetUri: ${origin}
remoteForwardHeaders: ["X-Like=$\${env:NOTHING}"]
allowUnauthenticated: true
plugins: [{ use: ./keys.mjs, replaces: auth/anonymous }]
`,
  })
  const words = ['proxy', 'mine', '--config', join(home, 'proxy.yaml'), '--plugin', 'audit/none']
  const wrong = program(t, words, { patience: 60 })
  assert.equal(await wrong.ended(), 2)
  assert.match(wrong.output.stderr, /^--plugin: plugin "audit\/none" not found/m)

  const printing = program(t, [...words.slice(0, 4), '--print-plugins'], { patience: 60 })
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  writeFileSync(join(home, 'printed.yaml'), printing.output.stdout)
  const again = program(t, ['run', '--config', join(home, 'printed.yaml'), '--print-plugins'], {
    patience: 60,
  })
  assert.equal(await again.ended(), 0, again.output.stderr)
  assert.equal(again.output.stdout, printing.output.stdout)

  const running = program(t, ['run', '--config', join(home, 'printed.yaml')], { patience: 60 })
  const url = await running.ready()
  assert.deepEqual(await asked(url), [401, ''])
  assert.deepEqual(await asked(url, 'key'), [200, 'none'])
})

test('a wrong command line and a wrong file are one report, with the exit code 2', async (t) => {
  const home = folder(t, {
    'proxy.yaml': 'targetUri: ftp://x\nremoteAut: true\nplugins: [{ use: ./absent.mjs }]\n',
  })
  const argv = ['proxy', 'mine', '--config', join(home, 'proxy.yaml'), '--port=1', '--port=2', '--hots', 'x']
  const started = program(t, argv, { patience: 60 })
  assert.equal(await started.ended(), 2)
  const places = started.output.stderr
    .trim()
    .split('\n')
    .map((line) => line.replace(`${home}/`, '').split(': ')[0] ?? '')
  assert.deepEqual(places.toSorted(), [
    '--hots',
    '--port',
    'proxy.yaml:1:12 targetUri',
    'proxy.yaml:2:1 remoteAut',
    'proxy.yaml:3:18 plugins[0].use',
  ])
})
