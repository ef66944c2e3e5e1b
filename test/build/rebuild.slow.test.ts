import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { spawned } from '#kit/spawned.js'

const root = join(import.meta.dirname, '../..')
const SOURCES = ['core', 'plugins', 'cli', 'examples', 'test/kit', '.build', 'package.json', 'tsconfig.json']

/** A copy of the sources, with the packages of this checkout. */
function checkout(t: TestContext): string {
  const home = folder(t)
  for (const path of SOURCES) cpSync(join(root, path), join(home, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))
  return home
}

const listen = { use: 'listen/http', with: { address: '127.0.0.1:0' } }

test('a running gateway still loads its plugins after a new build, a call and a link of its checkout', async (t) => {
  const home = checkout(t)
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder(t) }
  const called = (command: string, argv: readonly string[], more: NodeJS.ProcessEnv = {}): string =>
    execFileSync(command, argv, { cwd: home, env: { ...environment, ...more }, encoding: 'utf8' })
  // The commit is in a file that every other file imports.
  const build = (commit: string) =>
    called('npm', ['run', 'build', '--silent', '--', '--no-types'], { SALLYPORT_COMMIT: commit })
  build('a')
  const before = readdirSync(join(home, 'dist/parts'))

  const seen: (string | undefined)[] = []
  const target = await listening(t, ({ headers }, response) => {
    seen.push(headers.authorization)
    response.end('ok')
  })
  const list = (more: readonly object[]) =>
    JSON.stringify([listen, { use: 'auth/anonymous' }, ...more, { use: 'forward/http', with: { target } }])
  const config = join(folder(t, { 'list.json': list([]) }), 'list.json')
  const gateway = spawned(t, [process.execPath, 'cli/bin.js', 'run', '--config', config], {
    cwd: home,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const main = await eventually(() => /http:\S+/.exec(gateway.output.stdout)?.[0], 30)

  const version = called('npx', ['--offline', 'sallyport', '--version'])
  called('npm', ['link', '--offline', '--no-audit'], { npm_config_prefix: folder(t) })
  build('b')
  const after = readdirSync(join(home, 'dist/parts'))
  assert.ok(
    after.some((part) => !before.includes(part)),
    'the second build wrote no new file',
  )

  writeFileSync(config, list([{ use: 'credential/static-bearer', with: { token: 'late' } }]))
  gateway.process.kill('SIGHUP')
  await eventually(() => /was read again/.test(gateway.output.stderr), 30)
  assert.equal(await (await fetch(main)).text(), 'ok')
  assert.deepEqual(seen, ['Bearer late'], gateway.output.stderr)

  assert.equal(called(process.execPath, ['cli/bin.js', '--version']), version)
  const [{ files }] = JSON.parse(called('npm', ['pack', '--dry-run', '--json', '--ignore-scripts']))
  const packed = files.map(({ path }: { readonly path: string }) => path)
  assert.equal(packed.filter((path: string) => path.startsWith('dist/parts/gateway-')).length, 1)
})
