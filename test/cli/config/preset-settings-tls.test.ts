import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Entry, List } from 'sallyport'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { StdioSettings } from 'sallyport/presets/stdio'
import { TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { planOf } from '#cli/config/all-problems.js'
import { type PresetReader, readPreset } from '#cli/config/preset-settings.js'
import { mapped } from '#cli/config/result.js'
import { folder } from '#kit/folder.js'
import { proxyTable, tunnelTable } from '#plugins/presets/proxy/table.js'
import { registryTable } from '#plugins/presets/registry/table.js'
import { parsed } from '../parsed.js'

type Environment = Readonly<Record<string, string>>

const listenerOf = (list: List): unknown =>
  list.filter((item): item is Entry => 'use' in item).find(({ use }) => use === 'listen/http')?.with

/** The options of the main port, or what is wrong with them by the place where it is written. */
async function read<Settings>(
  t: TestContext,
  [reader, toList]: readonly [PresetReader<Settings>, (settings: Settings) => List],
  argv: readonly string[],
  { file, environment = {} }: { readonly file?: string; readonly environment?: Environment } = {},
) {
  const home = folder(t, file === undefined ? {} : { 'a.yaml': file })
  const config = file === undefined ? [] : ['--config', join(home, 'a.yaml')]
  const { invocation, problems: wrong } = parsed([...argv, ...config], environment)
  assert.ok(invocation !== undefined, JSON.stringify(wrong))
  const outcome = mapped(await readPreset(reader, invocation), toList)
  const checked = await planOf(outcome)
  const problems = 'problems' in checked ? checked.problems : []
  return {
    home,
    listener: 'settings' in outcome ? listenerOf(outcome.settings) : undefined,
    places: problems.map(({ place }) => place.replace(`${home}/`, '').replace(/ \(.*/, '')),
  }
}

const ofProxy = [{ table: proxyTable, schema: ProxySettings }, proxy] as const
const ofTunnel = [{ table: tunnelTable, schema: TunnelSettings }, tunnel] as const
const ofRegistry = [{ table: registryTable, schema: RegistrySettings }, registry] as const
const ofStdio = [{ table: proxyTable, schema: StdioSettings }, () => []] as const

const argvOf = ['proxy', 'x', '--target-uri', 'https://target.example']
const TLS =
  'tls: { cert: ./a.crt, key: ./a.key, clientCa: ./ca.crt, clientCertificate: require, minVersion: 1.3 }\n'

test('TLS is a section of every file, and its flags win over variables and these over the file', async (t) => {
  const target = 'targetUri: https://target.example\n'
  const written = { cert: './a.crt', key: './a.key', clientCa: './ca.crt', clientCertificate: 'require' }
  const tunnelled = `${target}allowUnauthenticated: true\ntunnelProvider: command\ntunnelCommand: x {url}\n`
  const cases = [
    await read(t, ofProxy, ['proxy', 'x'], { file: target + TLS }),
    await read(t, ofTunnel, ['proxy', 'tunnel', 'x'], { file: tunnelled + TLS }),
    await read(t, ofRegistry, ['registry'], { file: `auth: { mode: anonymous }\n${TLS}` }),
  ]
  for (const { listener, places } of cases) {
    assert.deepEqual(places, [])
    assert.deepEqual(Reflect.get(Object(listener), 'tls'), { ...written, minVersion: 1.3 })
  }

  const environment = {
    SALLYPORT_TLS_CERT: '/environment.crt',
    SALLYPORT_TLS_KEY: '/environment.key',
    SALLYPORT_TLS_CLIENT_CERTIFICATE: 'request',
  }
  const flags = ['proxy', 'x', '--tls-cert', '/flag.crt', '--tls-min-version', '1.2']
  const { listener } = await read(t, ofProxy, flags, { file: target + TLS, environment })
  assert.deepEqual(Reflect.get(Object(listener), 'tls'), {
    cert: '/flag.crt',
    key: '/environment.key',
    clientCa: './ca.crt',
    clientCertificate: 'request',
    minVersion: '1.2',
  })
  // A path on the command line starts at the working directory, one in a file at the file.
  const relative = await read(t, ofProxy, [...argvOf, '--tls-cert', 'b.crt'], { file: TLS })
  assert.equal(Reflect.get(Object(relative.listener), 'tls').cert, join(process.cwd(), 'b.crt'))
})

test('mistakes of TLS are reported at their flag, variable or line', async (t) => {
  const all = { cert: '--tls-cert', key: '--tls-key' }
  for (const [flags, places] of [
    [['--tls-cert', 'a'], [all.key]],
    [
      ['--tls-client-ca', 'a'],
      [all.cert, all.key],
    ],
    [
      ['--tls-cert', 'a', '--tls-key', 'b', '--tls-client-certificate', 'require'],
      ['--tls-client-certificate'],
    ],
  ] as const)
    assert.deepEqual((await read(t, ofProxy, [...argvOf, ...flags])).places, places)

  const environment = {
    SALLYPORT_TLS_CERT: 'a',
    SALLYPORT_TLS_KEY: 'b',
    SALLYPORT_TLS_CLIENT_CERTIFICATE: 'request',
  }
  const named = await read(t, ofProxy, argvOf, { environment })
  assert.deepEqual(named.places, ['SALLYPORT_TLS_CLIENT_CERTIFICATE'])

  for (const [text, places] of [
    ['tls:\n  cert: a\n', ['a.yaml:2:3 tls.key']],
    ['tls:\n  cert: a\n  key: b\n  minVersion: 1.1\n', ['a.yaml:4:15 tls.minVersion']],
    ['tls:\n  cert: a\n  key: b\n  chipers: x\n', ['a.yaml:4:3 tls.chipers']],
    ['tls:\n', ['a.yaml:1:1 tls']],
    ['tls: true\n', ['a.yaml:1:6 tls']],
  ] as const) {
    const found = await read(t, ofProxy, argvOf, { file: text })
    assert.deepEqual(found.places, places, text)
    const same = await read(t, ofRegistry, ['registry', '--auth-mode', 'anonymous'], { file: text })
    assert.deepEqual(same.places, places, text)
  }
})

test('a proxy on standard input and output has no port for TLS, and refuses it', async (t) => {
  const file = `targetUri: https://target.example\n${TLS}`
  assert.deepEqual((await read(t, ofStdio, ['proxy', 'stdio', 'x'], { file })).places, ['a.yaml:2:6 tls'])
})
