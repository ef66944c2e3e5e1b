import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientConfig } from '#cli/commands/proxy-stdio/client-config.js'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { bin } from '#kit/started-program.js'
import { parsed } from '../../parsed.js'

function printed(flags: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const argv = ['proxy', 'stdio', 'name', '--target-uri', 'https://target.example/mcp', ...flags]
  const { invocation } = parsed(argv, environment)
  assert.ok(invocation !== undefined)
  const text = clientConfig(invocation, ['sallyport'])
  const configs = text
    .split(/^.*:$/m)
    .slice(1)
    .map((json) => JSON.parse(json))
  return { text, server: configs[0].mcpServers.name, servers: configs[1].servers.name }
}

test('the client configuration has the command with its flags, and the parser reads them back', () => {
  const { server, servers } = printed([
    '--remote-auth',
    '--remote-auth-scopes',
    'a,b',
    '--remote-auth-timeout',
    '1m',
  ])

  assert.equal(server.command, 'sallyport')
  const again = parsed(server.args)
  assert.equal(again.invocation?.command.name, 'proxy stdio')
  assert.deepEqual(again.invocation?.positionals, ['name'])
  assert.deepEqual(again.invocation?.options.get('remote-auth-scopes')?.value, ['a', 'b'])
  assert.equal(again.invocation?.options.get('remote-auth-timeout')?.value, 60_000)
  assert.deepEqual(servers, { type: 'stdio', ...server })
})

test('a path is absolute, since a client starts the command from a folder of its own', () => {
  const { server } = printed(['--remote-auth-bearer-token-file', 'token'])

  assert.ok(server.args.includes(`--remote-auth-bearer-token-file=${join(process.cwd(), 'token')}`))
  const more = printed(['--config', 'proxy.yaml', '--plugin', './guard.js', '--plugin=my-guard']).server.args
  for (const flag of ['--config=', '--plugin=']) {
    const file = join(process.cwd(), flag === '--config=' ? 'proxy.yaml' : 'guard.js')
    assert.ok(more.includes(`${flag}${file}`), more.join(' '))
  }
  assert.ok(more.includes('--plugin=my-guard'))
})

test('T10: no secret is printed; its variable is named instead', () => {
  const { text, server } = printed([
    '--remote-auth-bearer-token',
    'canary',
    '--remote-forward-headers',
    'X-Key=canary',
  ])

  assert.ok(!text.includes('canary'))
  assert.deepEqual(Object.keys(server.env), [
    'SALLYPORT_REMOTE_AUTH_BEARER_TOKEN',
    'SALLYPORT_REMOTE_FORWARD_HEADERS',
  ])
})

test('T10: the command prints the configuration of each client, opens no port, and prints no secret', async (t) => {
  const directory = folder(t, { 'token.txt': 'canary-file' })
  const flags = [
    '--target-uri=https://target.example/mcp',
    '--remote-forward-headers=X-Key=canary-header',
    '--remote-auth-bearer-token-file=token.txt',
  ]
  const printing = program(t, ['proxy', 'stdio', 'my server', '--print-client-config', ...flags], {
    cwd: directory,
    environment: { SALLYPORT_REMOTE_FORWARD_HEADERS: 'X-Key=canary-environment' },
  })

  assert.equal(await printing.ended(), 0)
  const { stdout, stderr } = printing.output
  assert.doesNotMatch(stdout + stderr, /canary/)
  const server = {
    command: process.execPath,
    args: [
      ...[realpathSync(bin), 'proxy', 'stdio', '--target-uri=https://target.example/mcp'],
      ...[`--remote-auth-bearer-token-file=${join(directory, 'token.txt')}`, 'my server'],
    ],
    env: { SALLYPORT_REMOTE_FORWARD_HEADERS: 'PUT THE SECRET HERE' },
  }
  const [, forMost, forCode] = stdout.split(/^.*:$/m)
  assert.deepEqual(JSON.parse(forMost ?? ''), { mcpServers: { 'my server': server } })
  assert.deepEqual(JSON.parse(forCode ?? ''), { servers: { 'my server': { type: 'stdio', ...server } } })
  assert.match(stdout, /^Claude Desktop \(claude_desktop_config\.json\), .*:$/m)
  assert.match(stdout, /^VS Code \(\.vscode\/mcp\.json\):$/m)
})

test('a wrong flag is an exit code of 2 here too, and no configuration is printed', async (t) => {
  const flags = ['--target-uri=ftp://x', '--remote-auth-timeot=1s']
  const printing = program(t, ['proxy', 'stdio', 'name', '--print-client-config', ...flags])

  assert.equal(await printing.ended(), 2)
  assert.equal(printing.output.stdout, '')
  assert.match(printing.output.stderr, /--remote-auth-timeot/)
})

test('the printed command runs unchanged, from any folder and without this PATH', async (t) => {
  const flags = ['--target-uri=http://127.0.0.1:9/mcp']
  const printing = program(t, ['proxy', 'stdio', 'name', '--print-client-config', ...flags])
  await printing.ended()
  const [, forMost = ''] = printing.output.stdout.split(/^.*:$/m)
  const { command, args } = JSON.parse(forMost).mcpServers.name
  const started = spawn(command, [...args, '--print-plugins'], { cwd: folder(t), env: { PATH: '/nowhere' } })
  started.stdout.resume()

  assert.deepEqual(await once(started, 'close'), [0, null])
})
