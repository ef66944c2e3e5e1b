import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isPlannedScope } from 'sallyport/embed'
import { proxy } from 'sallyport/presets/proxy'
import { registry } from 'sallyport/presets/registry'
import { StdioSettings, stdio } from 'sallyport/presets/stdio'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { readProxySettings } from '#cli/commands/proxy/run.js'
import { readRegistrySettings } from '#cli/commands/registry/run.js'
import { readRunSettings } from '#cli/commands/run/run.js'
import { planOf } from '#cli/config/all-problems.js'
import { readPreset } from '#cli/config/preset-settings.js'
import { mapped } from '#cli/config/result.js'
import { folder } from '#kit/folder.js'
import { proxyTable, tunnelTable } from '#plugins/presets/proxy/table.js'
import { parsed } from '../parsed.js'

const kinds = {
  authenticator: 'Authenticator',
  guard: 'Guard',
  header: 'HeaderSource',
  credential: 'Credential',
  store: 'StateStore',
  source: 'Source',
  tunnel: 'Tunnel',
  listener: 'Listener',
  observer: 'AuditSink',
} as const

type Kind = keyof typeof kinds

/** A plugin that only says what it provides: lists are planned here, and not booted. */
const pluginOf = (kind: Kind): string => `
  import { ${kinds[kind]} } from 'sallyport'
  export default { name: 'mine-${kind}', api: 1, provides: [${kinds[kind]}],
    options: { '~standard': { version: 1, vendor: 'mine', validate: (value) => ({ value }) } }, setup() {} }`

/** A folder with a plugin of each kind as a file, and as a package that is installed there. */
function home(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const plugins = (Object.keys(kinds) as Kind[]).flatMap((kind) => [
    [`own/${kind}.mjs`, pluginOf(kind)],
    [`node_modules/mine-${kind}/index.js`, pluginOf(kind)],
    [
      `node_modules/mine-${kind}/package.json`,
      `{"name":"mine-${kind}","type":"module","exports":"./index.js"}`,
    ],
  ])
  return folder(t, { ...Object.fromEntries(plugins), ...files })
}

async function planned(argv: readonly string[]) {
  const { invocation, problems } = parsed(argv)
  assert.ok(invocation !== undefined, JSON.stringify(problems))
  const name = invocation.command.name
  const list =
    name === 'registry'
      ? mapped(await readRegistrySettings(invocation), registry)
      : name === 'proxy'
        ? mapped(await readProxySettings(invocation), proxy)
        : name === 'proxy stdio'
          ? mapped(await readPreset({ table: proxyTable, schema: StdioSettings }, invocation), stdio)
          : name === 'proxy tunnel'
            ? mapped(await readPreset({ table: tunnelTable, schema: TunnelSettings }, invocation), tunnel)
            : mapped(await readRunSettings(invocation), ({ plugins }) => plugins)
  const result = await planOf(list)
  if ('problems' in result)
    return { problems: result.problems.map(({ place, message }) => `${place}: ${message}`) }
  return { names: result.plan.items.map((item) => (isPlannedScope(item) ? '' : item.id)) }
}

const target = 'targetUri: https://mcp.example.com/mcp\n'
const login = `${target}remoteAuth: true\nremoteForwardHeaders: { X-Key: value }\n`

/** Each kind beside, and in the place of, an entry of the preset. */
const cases: readonly (readonly [command: string, settings: string, kind: Kind, neighbour: string])[] = [
  ['registry', 'auth: { mode: anonymous }\n', 'authenticator', 'auth/anonymous'],
  ['registry', 'auth: { mode: anonymous }\n', 'guard', 'guard/origin'],
  ['registry', 'auth: { mode: anonymous }\n', 'observer', 'internal/metrics'],
  ['registry', 'auth: { mode: anonymous }\n', 'listener', 'listen/http'],
  [
    'registry',
    'auth: { mode: anonymous }\nsources: [{ name: own, file: { path: x.json } }]\n',
    'source',
    'source:own',
  ],
  ['proxy', target, 'authenticator', 'auth/anonymous'],
  ['proxy', target, 'guard', 'guard/origin'],
  ['proxy', target, 'listener', 'listen/http'],
  ['proxy', `${target}internalAddress: 127.0.0.1:0\n`, 'observer', 'internal/metrics'],
  ['proxy', `${target}oidcIssuer: https://i.example\noidcAudience: mcp\n`, 'authenticator', 'auth/oidc'],
  ['proxy', login, 'header', 'headers/static'],
  ['proxy', login, 'store', 'state/sqlite'],
  ['proxy', `${target}remoteAuthBearerToken: token\n`, 'credential', 'credential/static-bearer'],
  ['proxy stdio', target, 'authenticator', 'auth/anonymous'],
  ['proxy stdio', login, 'header', 'headers/static'],
  ['proxy stdio', login, 'store', 'state/sqlite'],
  ['proxy stdio', `${target}remoteAuthBearerToken: token\n`, 'credential', 'credential/static-bearer'],
  [
    'proxy tunnel',
    `${target}allowUnauthenticated: true\ntunnelProvider: command\ntunnelCommand: "client {url}"\n`,
    'tunnel',
    'tunnel/command',
  ],
]

// Two cannot be in one list: there is one state store and one tunnel, and listeners are for one port each.
const alone: readonly Kind[] = ['store', 'tunnel']

test('a plugin of each kind, from a file or a package, goes beside an entry of a preset, or replaces it', async (t) => {
  for (const [command, settings, kind, neighbour] of cases) {
    for (const use of [`./own/${kind}.mjs`, `mine-${kind}`]) {
      const files = Object.fromEntries(
        ['none', 'before', 'after', 'replaces'].map((place) => {
          const where = place === 'none' ? '' : `, ${place}: "${neighbour}"`
          return [`${place}.yaml`, `${settings}plugins: [{ use: ${use}, id: mine${where} }]\n`]
        }),
      )
      const at = home(t, { ...files, 'bare.yaml': settings })
      const names = async (place: string): Promise<readonly string[]> => {
        const words = [...command.split(' '), ...(command === 'registry' ? [] : ['name'])]
        const { names: found, problems } = await planned([...words, '--config', join(at, `${place}.yaml`)])
        assert.ok(found !== undefined, `${command} ${kind} ${place}: ${problems?.join('; ')}`)
        return found
      }
      const bare = await names('bare')
      const index = bare.findIndex((id) => id === neighbour || id === `${neighbour}:incoming`)
      assert.ok(index >= 0, neighbour)
      const said = `${command} ${neighbour}`
      assert.deepEqual(await names('replaces'), bare.with(index, 'mine'), said)
      if (alone.includes(kind)) continue
      assert.deepEqual(await names('before'), bare.toSpliced(index, 0, 'mine'), said)
      assert.deepEqual(await names('after'), bare.toSpliced(index + 1, 0, 'mine'), said)
      assert.deepEqual(await names('none'), [...bare, 'mine'], said)
    }
  }
})

test('a flag adds a plugin, by its file or its package, after the plugins of the file', async (t) => {
  const at = home(t, {
    'registry.yaml': 'auth: { mode: anonymous }\nplugins: [{ use: mine-guard }]\n',
    'proxy.yaml': `${target}plugins: [{ use: mine-guard }]\n`,
    'run.yaml': '- use: auth/anonymous\n- use: mine-guard\n',
  })
  for (const [words, file] of [
    [['registry'], 'registry.yaml'],
    [['proxy', 'name'], 'proxy.yaml'],
    [['proxy', 'stdio', 'name'], 'proxy.yaml'],
    [['run'], 'run.yaml'],
  ] as const) {
    const argv = [...words, '--config', join(at, file)]
    const added = ['--plugin', join(at, 'own/header.mjs'), '--plugin=mine-observer']
    const { names, problems } = await planned([...argv, ...added])
    assert.deepEqual(names?.slice(-3), ['mine-guard', 'mine-header', 'mine-observer'], problems?.join())
    const wrong = await planned([...argv, '--plugin', './absent.mjs'])
    assert.match(wrong.problems?.join() ?? '', /^--plugin: plugin ".*absent\.mjs" not found/)
    const { problems: missing } = await planned([...argv, '--plugin', 'audit/http'])
    const place = '--plugin sets no options, `plugins` in a file of --config does: url (audit/http)'
    assert.deepEqual(missing, [`${place}: missing: expected string`])
  }
})

test('the list of `run` accepts plugins at any position', async (t) => {
  const uses = (Object.keys(kinds) as Kind[]).flatMap((kind) => [
    `- { use: ./own/${kind}.mjs, id: file-${kind} }`,
    ...(alone.includes(kind) ? [] : [`- { use: mine-${kind}, id: package-${kind} }`]),
  ])
  const at = home(t, { 'run.yaml': uses.join('\n') })
  const { names, problems } = await planned(['run', '--config', join(at, 'run.yaml')])
  assert.equal(names?.length, uses.length, problems?.join('; '))
})

test('the keys of a file are the flags in camel case; a flag wins over a variable, a variable over the file', async (t) => {
  const at = home(t, {
    'proxy.yaml': `${login}port: "8123"\ntargetTimeout: 90s\nmaxBody: 1KiB\noidcScopes: [a, b]\noidcCaCert: ca.pem
oidcIssuer: https://i.example\noidcAudience: file\nremoteForwardClaims: [X-User=sub]\n`,
  })
  const read = async (flags: readonly string[], environment = {}) => {
    const argv = ['proxy', 'name', '--config', join(at, 'proxy.yaml'), ...flags]
    const { invocation } = parsed(argv, environment)
    assert.ok(invocation !== undefined)
    const outcome = await readProxySettings(invocation)
    assert.ok('settings' in outcome, JSON.stringify(outcome))
    return outcome
  }
  const { settings, folder: from } = await read([])
  assert.equal(from, at)
  assert.deepEqual(
    [settings.name, settings.targetUri, settings.port, settings.targetTimeout, settings.maxBody],
    ['name', 'https://mcp.example.com/mcp', 8123, 90_000, 1024],
  )
  assert.deepEqual(settings.oidcScopes, ['a', 'b'])
  assert.deepEqual(settings.remoteForwardHeaders, [['X-Key', 'value']])
  assert.deepEqual(settings.remoteForwardClaims, [['X-User', 'sub']])
  const environment = { SALLYPORT_OIDC_AUDIENCE: 'variable' }
  assert.equal((await read([], environment)).settings.oidcAudience, 'variable')
  const flag = await read(['--oidc-audience=flag', '--oidc-ca-cert=./flag.pem'], environment)
  assert.equal(flag.settings.oidcAudience, 'flag')
  // Paths of the command line start where it was typed.
  assert.equal(flag.settings.oidcCaCert, join(process.cwd(), 'flag.pem'))
  assert.equal(flag.locate(['oidcAudience']), '--oidc-audience')
  assert.equal(flag.locate(['oidcIssuer']), `${join(at, 'proxy.yaml')}:9:13 oidcIssuer`)
})

test('a secret and its file: the source nearer to the command line counts, and both are hidden', async (t) => {
  const at = home(t, {
    'value.yaml': `${target}remoteAuthBearerToken: by-file-value\n`,
    'file.yaml': `${target}remoteAuthBearerTokenFile: ./token\n`,
    'both.yaml': `${target}remoteAuthBearerToken: by-file-value\nremoteAuthBearerTokenFile: ./token\n`,
  })
  const read = async (file: string, flags: readonly string[], environment = {}) => {
    const { invocation } = parsed(['proxy', 'name', '--config', join(at, file), ...flags], environment)
    assert.ok(invocation !== undefined)
    const outcome = await readProxySettings(invocation)
    assert.ok('settings' in outcome)
    const { remoteAuthBearerToken: value, remoteAuthBearerTokenFile: path } = outcome.settings
    if (value !== undefined) assert.ok(outcome.secrets.has(value))
    return [value, path]
  }
  const flag = '--remote-auth-bearer-token-file=/f'
  assert.deepEqual(await read('value.yaml', [flag]), [undefined, '/f'])
  assert.deepEqual(await read('both.yaml', []), ['by-file-value', undefined])
  assert.deepEqual(await read('file.yaml', [], { SALLYPORT_REMOTE_AUTH_BEARER_TOKEN: 'v' }), ['v', undefined])
  assert.deepEqual(await read('file.yaml', [flag], { SALLYPORT_REMOTE_AUTH_BEARER_TOKEN: 'v' }), [
    undefined,
    '/f',
  ])
})

test('every wrong position, key and value is printed at its line', async (t) => {
  const at = home(t, {
    'proxy.yaml': `targetUir: https://mcp.example.com/mcp
targetUri: https://mcp.example.com/mcp
port: many
remoteAuth: true
plugins:
  - { use: mine-guard, before: guard/orgin }
  - { use: mine-guard, id: b, before: guard/origin, after: guard/origin }
  - { use: mine-guard, id: c, replaces: nobody }
  - { use: mine-guard, id: d, replace: guard/origin }
`,
    'less.yaml': `${login}plugins: [{ use: mine-guard, replaces: state/sqlite }]\n`,
  })
  const { problems = [] } = await planned(['proxy', 'name', '--config', join(at, 'proxy.yaml')])
  const lines = problems.map((line) => line.replace(`${at}/`, ''))
  for (const wanted of [
    /^proxy\.yaml:1:1 targetUir: unknown key$/,
    /^proxy\.yaml:3:7 port: a port from 0 to 65535 is expected$/,
    /^proxy\.yaml:6:32 plugins\[0\]\.before: no entry has this name$/,
    /^proxy\.yaml:7:5 plugins\[1\]: expected one of before, after, replaces$/,
    /^proxy\.yaml:8:41 plugins\[2\]\.replaces: no entry has this name; known here: .*guard\/origin/,
    /^proxy\.yaml:9:31 plugins\[3\]\.replace: unknown key$/,
  ])
    assert.ok(
      lines.some((line) => wanted.test(line)),
      `${wanted}\n${lines.join('\n')}`,
    )
  assert.equal(lines.length, 6, lines.join('\n'))

  const less = await planned(['proxy', 'name', '--config', join(at, 'less.yaml')])
  assert.match(less.problems?.join('\n') ?? '', /needs a state store, and nothing in the list provides one/)
})

test('a position that no entry has is reported with the nearest name, or with all names', async (t) => {
  const at = home(t, {
    'proxy.yaml': `${target}plugins:
  - { use: mine-guard, before: forward/htp }
  - { use: mine-guard, id: b, after: nobody }
  - { use: mine-guard, id: c, before: last }
  - { use: mine-guard, id: last }
`,
  })
  const { invocation } = parsed(['proxy', 'name', '--config', join(at, 'proxy.yaml')])
  assert.ok(invocation !== undefined)
  const read = await readProxySettings(invocation)
  assert.ok('problems' in read)
  const [misspelt, unlike, early] = read.problems
  assert.equal(misspelt?.suggestion, 'forward/http')
  assert.doesNotMatch(misspelt.message, /guard\/origin/)
  assert.equal(unlike?.suggestion, undefined)
  assert.match(unlike?.message ?? '', /guard\/origin, /)
  assert.match(early?.message ?? '', /^it is below this one/)
})

test('the path of a tunnel is relative to the working folder on the command line, and to the file in a file', async (t) => {
  const at = home(t, {
    'proxy.yaml': `${target}allowUnauthenticated: true\ntunnelProvider: ./own/tunnel.mjs\n`,
  })
  const providerOf = async (...flags: readonly string[]) => {
    const { invocation } = parsed(['proxy', 'tunnel', 'name', '--config', join(at, 'proxy.yaml'), ...flags])
    assert.ok(invocation !== undefined)
    const outcome = await readPreset({ table: tunnelTable, schema: TunnelSettings }, invocation)
    assert.ok('settings' in outcome, JSON.stringify(outcome))
    return outcome.settings.tunnelProvider
  }
  assert.equal(await providerOf(), './own/tunnel.mjs')
  assert.equal(await providerOf('--tunnel-provider=./tunnel.mjs'), join(process.cwd(), 'tunnel.mjs'))
  for (const name of ['mine-tunnel', '/opt/tunnel.mjs'])
    assert.equal(await providerOf(`--tunnel-provider=${name}`), name)
})
