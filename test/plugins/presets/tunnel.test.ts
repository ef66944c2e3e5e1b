import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isScope } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { planList } from 'sallyport/embed'
import { TunnelSettings as schema, type TunnelSettings, tunnel } from 'sallyport/presets/tunnel'
import { commands } from '#cli/commands/index.js'
import { readPreset } from '#cli/config/preset-settings.js'
import { parse } from '#cli/line/parse.js'
import { helpOptions } from '#cli/line/shared-flags.js'
import { recordedLog } from '#kit/booted.js'
import { tunnelTable } from '#plugins/presets/proxy/table.js'
import { placesOf } from '../../cli/parsed.js'

function read(flags: readonly string[]) {
  const argv = ['proxy', 'tunnel', 'name', '--target-uri', 'https://target.example/mcp', ...flags]
  const { invocation, problems } = parse(argv, {}, commands, helpOptions)
  assert.ok(invocation !== undefined, placesOf({ problems }).join())
  return readPreset({ table: tunnelTable, schema }, invocation)
}

const contextFor = (outcome: { readonly locate: (path: readonly (string | number)[]) => string }) => ({
  catalogue,
  folder: import.meta.dirname,
  log: recordedLog().log,
  locate: outcome.locate,
})

/** Where something is wrong, by the flags or by the options of the plugins that they become. */
async function refused(flags: readonly string[]): Promise<string[]> {
  const outcome = await read(flags)
  if ('problems' in outcome) return [...placesOf(outcome)]
  try {
    await planList(tunnel(outcome.settings), contextFor(outcome))
    return []
  } catch (error) {
    const { problems } = error as { problems: readonly { place: string }[] }
    return problems.map(({ place }) => place.replace(/ \(.*\)$/, ''))
  }
}

async function settingsOf(flags: readonly string[]): Promise<TunnelSettings> {
  const outcome = await read(flags)
  assert.ok('settings' in outcome, 'problems' in outcome ? placesOf(outcome).join() : '')
  return outcome.settings
}

const entryOf = (settings: TunnelSettings, use: string) =>
  tunnel(settings).find((item) => !isScope(item) && item.use === use)

const open = '--allow-unauthenticated'
const ssh = ['--tunnel-provider', 'ssh', '--tunnel-ssh-destination', 'me@host.example']
const command = ['--tunnel-provider', 'command', '--tunnel-command', 'client {url}']

test('a tunnel without authentication of callers is refused, on loopback too', async () => {
  assert.deepEqual(await refused(ssh), ['--oidc-issuer'])
  assert.deepEqual(await refused([...ssh, open]), [])
  assert.deepEqual(await refused([...ssh, '--oidc-issuer=https://idp.example/', '--oidc-audience=mcp']), [])
})

test('the proxy itself listens on loopback only', async () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.1', 'host.example']) {
    assert.deepEqual(await refused([...ssh, open, '--host', host]), ['--host'], host)
  }
  assert.deepEqual(await refused([...ssh, open, '--host', '::1']), [])
})

test('a flag of one provider is refused with another', async () => {
  assert.deepEqual(await refused([...command, open, '--tunnel-ssh-port=22']), ['--tunnel-ssh-port'])
  assert.deepEqual(await refused([...ssh, open, '--tunnel-command=x {url}']), ['--tunnel-command'])
  assert.deepEqual(await refused([...ssh, open, '--tunnel-option=a=b']), ['--tunnel-option'])
  assert.deepEqual(await refused(['--tunnel-provider=ssh', open]), ['--tunnel-ssh-destination'])
  assert.deepEqual(await refused(['--tunnel-provider=command', open]), ['--tunnel-command'])
})

test('a destination is never an option of ssh', async () => {
  for (const text of [
    '-oProxyCommand=touch x',
    'me@-oProxyCommand=x',
    '-l',
    'a b',
    'a;b',
    'a$(b)',
    '@host',
    '%h',
  ]) {
    const flags = ['--tunnel-provider=ssh', `--tunnel-ssh-destination=${text}`, open]
    assert.deepEqual(await refused(flags), ['--tunnel-ssh-destination'], text)
  }
})

test('the public URL of ssh is https, and needed where the server does not listen on its loopback', async () => {
  const at = (url: string) => [...ssh, open, '--tunnel-ssh-remote-port=9000', `--tunnel-public-url=${url}`]
  assert.deepEqual(await refused(at('https://mcp.example')), [])
  for (const url of ['http://mcp.example', 'https://mcp.example/x', 'https://mcp.example/?a']) {
    assert.deepEqual(await refused(at(url)), ['--tunnel-public-url'], url)
  }
  assert.deepEqual(await refused([...ssh, open, '--tunnel-ssh-remote-host=0.0.0.0']), ['--tunnel-public-url'])
  assert.deepEqual(await refused([...ssh, open, '--tunnel-public-url=https://mcp.example']), [
    '--tunnel-ssh-remote-port',
  ])
})

test('a command is split into words by a plain rule, and must name the address of the proxy', async () => {
  const at = (text: string, ...more: string[]) => [
    '--tunnel-provider=command',
    `--tunnel-command=${text}`,
    open,
    ...more,
  ]
  const words = async (text: string): Promise<unknown> => {
    const { with: options } = entryOf(await settingsOf(at(text)), 'tunnel/command') as {
      with: { command: unknown }
    }
    return options.command
  }
  assert.deepEqual(await words('client  --url {url}'), ['client', '--url', '{url}'])
  assert.deepEqual(await words(`'/a b/client' --x="{port} $HOME" 'it"s' a\\b | c ""`), [
    '/a b/client',
    '--x={port} $HOME',
    'it"s',
    'a\\b',
    '|',
    'c',
    '',
  ])
  assert.deepEqual(await refused(at('client "{url}')), ['--tunnel-command'])
  assert.deepEqual(await refused(at('client run')), ['--tunnel-command'])
  assert.deepEqual(await refused(at('client run', '--port=8080')), [])
})

test('a pattern is a regular expression with one group, and needed with a public URL', async () => {
  assert.deepEqual(await refused([...command, open, '--tunnel-command-pattern=(https://\\S+)']), [])
  for (const pattern of ['(', 'https://\\S+', '(a)(b)']) {
    assert.deepEqual(
      await refused([...command, open, `--tunnel-command-pattern=${pattern}`]),
      ['--tunnel-command-pattern'],
      pattern,
    )
  }
  const known = '--tunnel-public-url=https://mcp.example'
  assert.deepEqual(await refused([...command, open, known]), ['--tunnel-command-pattern'])
  assert.deepEqual(await refused([...command, open, known, '--tunnel-command-pattern=Registered']), [])
})

test('a provider of your own gets its options and the public URL', async () => {
  const flags = [
    '--tunnel-provider=./mine.js',
    '--tunnel-option',
    'region=eu',
    '--tunnel-public-url=https://a.example',
  ]
  assert.deepEqual(entryOf(await settingsOf([...flags, open]), './mine.js'), {
    use: './mine.js',
    with: { region: 'eu', publicUrl: 'https://a.example' },
    origin: { '': ['tunnelOption'], publicUrl: ['tunnelPublicUrl'] },
    named: ['tunnelProvider'],
  })
})

test('the guards know the public address, and allowed origins replace it like those of loopback', async () => {
  const withOf = async (flags: readonly string[], use: string) =>
    (entryOf(await settingsOf(flags), use) as { with: unknown }).with
  const flags = [...ssh, open]
  assert.deepEqual(await withOf(flags, 'guard/host'), { allowed: [], loopback: true, public: true })
  assert.deepEqual(await withOf(flags, 'guard/origin'), { loopback: true, public: true })
  assert.deepEqual(await withOf([...flags, '--allowed-origins=https://a.example'], 'guard/origin'), {
    allowed: ['https://a.example'],
  })
})
