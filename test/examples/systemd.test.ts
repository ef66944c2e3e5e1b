import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../..')
const directory = join(root, 'examples/systemd')
const units = readdirSync(directory).filter((file) => file.endsWith('.service'))
const textOf = (file: string): string => readFileSync(join(directory, file), 'utf8')
const settingsOf = (file: string, key: string): string[] =>
  [...textOf(file).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)

const skip = spawnSync('systemd-analyze', ['--version']).status !== 0 && 'no systemd-analyze'

test('systemd accepts the units, and rates their exposure as low', { skip }, (t) => {
  const home = folder(t)
  const verified = (file: string, change: (text: string) => string) => {
    const path = join(home, file.replace('@.', '@notes.'))
    // systemd wants the program to exist.
    writeFileSync(path, change(textOf(file)).replace('/usr/local/bin/sallyport', '/bin/true'))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' })
    return { path, clean: status === 0 && stderr === '' }
  }
  assert.equal(units.length, 2)
  for (const file of units) {
    assert.equal(verified(file, (text) => text.replace('ProtectSystem=', 'ProtectSystems=')).clean, false)
    const { path, clean } = verified(file, (text) => text)
    assert.ok(clean, file)
    const argv = ['security', '--offline=true', '--threshold=20', '--no-pager', path]
    const { status, stdout } = spawnSync('systemd-analyze', argv, { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  }
})

test('the command of each unit starts, stops and reloads as the unit says', async (t) => {
  const home = folder(t, {
    'sallyport.yaml': readFileSync(join(root, 'examples/registry/sallyport.yaml'), 'utf8'),
    'servers.json': '[]',
    'notes.yaml': 'targetUri: https://mcp.example.com/mcp\n',
  })
  for (const file of units) {
    const [command = '', ...more] = settingsOf(file, 'ExecStart')
    assert.deepEqual(more, [])
    const [bin, ...argv] = command.replaceAll('%i', 'notes').replaceAll('/etc/sallyport', home).split(' ')
    assert.equal(bin, '/usr/local/bin/sallyport')
    const printing = program(t, [...argv, '--print-plugins'])
    assert.equal(await printing.ended(), 0, printing.output.stderr)

    assert.deepEqual(settingsOf(file, 'ExecReload'), ['/bin/kill -HUP $MAINPID'])
    assert.deepEqual(settingsOf(file, 'Type'), ['exec'])
    // The exit code of a wrong configuration.
    const wrong = program(t, [...argv, '--no-such-flag'])
    assert.deepEqual(settingsOf(file, 'RestartPreventExitStatus'), [String(await wrong.ended())])
    // Requests in flight, and the steps of stopping.
    assert.ok(Number(settingsOf(file, 'TimeoutStopSec')[0]) >= 25)
  }
})
