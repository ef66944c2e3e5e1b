import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { folder } from '#kit/folder.js'
import { bin } from '#kit/program.js'

const root = join(import.meta.dirname, '../..')

function started(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { PATH = '' } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    encoding: 'utf8',
    cwd: root,
    env: { PATH, ...environment },
  })
  return { status, stdout, stderr }
}

/** Runs a piece of a module in a process of its own. */
const evaluate = (code: string) => started([...process.execArgv, '--input-type=module', '-e', code])

function run(name: string, argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const ended = started([join(dirname(bin), `${name}.js`), ...argv], environment)
  return { ...ended, lines: ended.stderr.split('\n').filter((line) => line !== '') }
}

test('help goes to stdout and exits with 0', () => {
  for (const argv of [['--help'], ['proxy', '--help'], ['registry', '-h', '--nonsense']]) {
    const { status, stdout, stderr } = run('bin', argv)

    assert.equal(status, 0)
    assert.equal(stderr, '')
    assert.match(stdout, /^Usage: sallyport /)
  }
})

test('in a pipe nothing is coloured', () => {
  const { stdout } = run('bin', ['proxy', '--help'])
  const { stderr } = run('bin', ['proxy', '--nonsense'])

  assert.ok(!`${stdout}${stderr}`.includes('\u001b'))
})

test('the version is a line of its own', () => {
  assert.match(run('bin', ['--version']).stdout, /^\d+\.\d+\.\d+\S*\n$/)
})

test('mistakes are a line each on stderr, and exit with 2', () => {
  const { status, stdout, lines } = run('bin', ['proxy', '--port', 'x', '--tarpet-uri=hunter2', '--debug=2'])

  assert.equal(status, 2)
  assert.equal(stdout, '')
  assert.equal(lines.length, 5)
  assert.ok(lines.includes('--tarpet-uri: unknown flag (did you mean "--target-uri"?)'))
  assert.ok(!lines.join().includes('hunter2'))
})

test('mistakes of a flag, between flags and of a plugin are told at once, without a file too', () => {
  const flags = ['--port=x', '--allowed-origins=x', '--remote-forward-headers=Host=x']
  const proxy = run('bin', ['proxy', 'x', '--target-uri=https://mcp.example/', ...flags])
  const registry = run('bin', ['registry', '--auth-mode=anonymous', 'x'])

  assert.equal(proxy.status, 2)
  assert.deepEqual(
    proxy.lines.map((line) => /^--[\w-]+/.exec(line)?.[0]),
    ['--port', '--allowed-origins', '--remote-forward-headers'],
  )
  assert.equal(registry.lines.length, 1)
})

test('no command is a mistake', () => {
  assert.equal(run('bin', []).status, 2)
  assert.equal(run('bin', ['nonsense']).status, 2)
})

test('a control character in a flag neither breaks its line nor reaches the terminal', () => {
  const { lines } = run('bin', ['registry', '--auth-mode=anonymous', '--a\n\u001b[31mb'])

  assert.equal(lines.length, 1)
  assert.ok(!lines.join().includes('\u001b'))
})

test('mistakes in a file are a line each, and exit with 2', (t) => {
  const home = folder(t, { 'a.yaml': 'auth: { mode: x, oauth: { realm: 3 } }\nfoo: 1\n', 'b.yaml': 'a: [\n' })
  const wrong = run('bin', ['registry', '--config', join(home, 'a.yaml')])
  const broken = run('bin', ['run', '--config', join(home, 'b.yaml')])
  const missing = run('bin', ['run', '--config', join(home, 'c.yaml')])

  assert.equal(wrong.status, 2)
  assert.equal(wrong.lines.length, 5)
  for (const line of wrong.lines) assert.match(line, /a\.yaml:\d+:\d+ /)
  assert.equal(broken.status, 2)
  assert.equal(missing.status, 2)
  assert.equal(missing.lines.length, 1)
})

test('the preset programs are the program with their command', () => {
  const alone = run('bin-proxy', ['name', '--port', 'x'])
  const whole = run('bin', ['proxy', 'name', '--port', 'x'])

  assert.equal(alone.status, 2)
  assert.equal(alone.stderr, whole.stderr)
  assert.match(run('bin-registry', ['--help']).stdout, /^Usage: sallyport-registry /)
  assert.match(run('bin-proxy', ['stdio', '--help']).stdout, /^Usage: sallyport-proxy stdio /)
  assert.equal(run('bin-proxy', ['tunnel', '--target-uri', 'https://a']).status, 2)
})

test('the environment is read', () => {
  const { status, stderr } = run('bin', ['registry'], { SALLYPORT_AUTH_MODE: 'open' })

  assert.equal(status, 2)
  assert.match(stderr, /^SALLYPORT_AUTH_MODE: /)
})

test('a completion script is printed for each shell', () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout } = run('bin', ['completion', shell])

    assert.equal(status, 0)
    assert.match(stdout, /sallyport/)
  }
  assert.equal(run('bin', ['completion', 'tcsh']).status, 2)
})

test('help and version load no command and none of the heavy packages', () => {
  const unbundled = fileURLToPath(import.meta.resolve('#cli/bin.js'))
  for (const argv of [['proxy', '--help'], ['--help'], ['--version']]) {
    const { stderr } = started([...process.execArgv, unbundled, ...argv], { NODE_DEBUG: 'esm' })

    assert.match(stderr, /cli\/program\.[jt]s/)
    assert.ok(
      !/node_modules\/(zod|yaml|fastify|pino|undici)\/|core\/index|cli\/(commands\/[\w-]+\/run|config\/)/.test(
        stderr,
      ),
    )
  }
})

test('an old Node is told so in one line, before anything else is loaded', () => {
  for (const version of ['18.20.4', '20.18.3', '8.0.0']) {
    const old = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
    const { status, stdout, stderr } = evaluate(`${old}; await import('${pathToFileURL(bin)}')`)

    assert.equal(status, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^sallyport needs Node .*\n$/)
    assert.ok(stderr.includes(version))
  }
})

const importing = `const { printError } = await import('${import.meta.resolve('#cli/terminal.js')}');`

test('what fails unexpectedly is one line, and exits with 1', () => {
  const failing = `${importing} process.exitCode = await printError(`
  const plain = evaluate(`${failing} new Error('it broke'), false)`)
  const debug = evaluate(`${failing} new Error('it broke', { cause: new Error('the disk') }), true)`)

  assert.deepEqual(plain, { status: 1, stdout: '', stderr: 'sallyport: it broke\n' })
  assert.equal(debug.status, 1)
  assert.match(debug.stderr, /^sallyport: it broke\nError: it broke\n +at /)
  assert.match(debug.stderr, /\ncaused by: Error: the disk\n +at /)
})

test('a configuration that the kernel refuses is told without a stack, and exits with 2', () => {
  const { status, stderr } = evaluate(`
    ${importing}
    const { ConfigError } = await import('${import.meta.resolve('sallyport')}')
    process.exitCode = await printError(new ConfigError([{ place: 'a', message: 'b' }, { place: 'c', message: 'd' }]), true)
  `)

  assert.deepEqual({ status, stderr }, { status: 2, stderr: 'a: b\nc: d\n' })
})

test('a reader who leaves early is no failure', () => {
  const script = `${process.execPath} ${bin} completion fish | true; exit "\${PIPESTATUS[0]}"`
  const { status, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8', cwd: root })

  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
})

test('a plugin that ends the process is no success', (t) => {
  const root = folder(t, {
    'ends.mjs': 'process.exit(0)',
    'ends-later.mjs': `
      const setup = () => { setImmediate(() => process.exit(3)) }
      export default { name: 'ends', api: 1, setup }`,
    'throws.mjs': `setImmediate(() => { throw new Error('out of reach') }); await new Promise(() => {})`,
  })
  const sentence =
    /^sallyport: the process has ended \(code (\d+)\) before it was done: a plugin calls process\.exit\n/m
  const ended = (command: string, plugin: string) => {
    const file = join(root, 'gateway.yaml')
    writeFileSync(file, `plugins: [{ use: ./${plugin}.mjs }]\n`)
    const { status, stderr } = run('bin', [command, '--config', file])
    return [status, sentence.exec(stderr)?.[1]]
  }

  assert.deepEqual(ended('run', 'ends'), [1, '0'])
  assert.deepEqual(ended('check', 'ends'), [1, '0'])
  assert.deepEqual(ended('run', 'ends-later'), [3, '3'])
  assert.deepEqual(ended('check', 'throws'), [1, undefined])
})
