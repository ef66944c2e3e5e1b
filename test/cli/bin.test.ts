import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ConfigError } from 'sallyport'
import { printError } from '#cli/terminal.js'
import { folder } from '#kit/folder.js'
import { cli, testIo } from '#kit/program.js'
import { bin } from '#kit/started-program.js'

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

const startedBin = (name: string, argv: readonly string[]) =>
  started([join(dirname(bin), `${name}.js`), ...argv])

async function run(
  t: TestContext,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const ended = await cli(t, argv, { environment })
  return { ...ended, lines: ended.stderr.split('\n').filter((line) => line !== '') }
}

test('help goes to stdout and exits with 0', async (t) => {
  for (const argv of [['--help'], ['proxy', '--help'], ['registry', '-h', '--nonsense']]) {
    const { code, stdout, stderr } = await run(t, argv)

    assert.equal(code, 0)
    assert.equal(stderr, '')
    assert.match(stdout, /^Usage: sallyport /)
  }
})

test('output in a pipe has no colours', async (t) => {
  const { stdout } = await run(t, ['proxy', '--help'])
  const { stderr } = await run(t, ['proxy', '--nonsense'])

  assert.ok(!`${stdout}${stderr}`.includes('\u001b'))
})

test('the version is a line of its own', async (t) => {
  assert.match((await run(t, ['--version'])).stdout, /^\d+\.\d+\.\d+\S*\n$/)
})

test('each mistake is a line on stderr, and the exit code is 2', async (t) => {
  const { code, stdout, lines } = await run(t, ['proxy', '--port', 'x', '--tarpet-uri=hunter2', '--debug=2'])

  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.equal(lines.length, 5)
  assert.ok(lines.includes('--tarpet-uri: unknown flag (did you mean "--target-uri"?)'))
  assert.ok(!lines.join().includes('hunter2'))
})

test('mistakes of a flag and between flags are reported together, and mistakes of a plugin after them', async (t) => {
  const start = ['proxy', 'x', '--target-uri=https://mcp.example/']
  const ofPlugin = '--remote-forward-headers=Host=x'
  const proxy = await run(t, [...start, '--port=x', '--allowed-origins=x', ofPlugin])
  const later = await run(t, [...start, ofPlugin])
  const registry = await run(t, ['registry', '--auth-mode=anonymous', 'x'])

  assert.equal(proxy.code, 2)
  assert.deepEqual(
    proxy.lines.map((line) => /^--[\w-]+/.exec(line)?.[0]),
    ['--port', '--allowed-origins'],
  )
  assert.match(later.lines.join(), /^--remote-forward-headers/)
  assert.equal(registry.lines.length, 1)
})

test('a command line without a command is a mistake', async (t) => {
  assert.equal((await run(t, [])).code, 2)
  assert.equal((await run(t, ['nonsense'])).code, 2)
})

test('a control character in a flag neither breaks its line nor reaches the terminal', async (t) => {
  const { lines } = await run(t, ['registry', '--auth-mode=anonymous', '--a\n\u001b[31mb'])

  assert.equal(lines.length, 1)
  assert.ok(!lines.join().includes('\u001b'))
})

test('a preset program is the main program with its command', () => {
  const alone = startedBin('bin-proxy', ['name', '--port', 'x'])
  const whole = startedBin('bin', ['proxy', 'name', '--port', 'x'])

  assert.equal(alone.status, 2)
  assert.equal(alone.stderr, whole.stderr)
  assert.match(startedBin('bin-registry', ['--help']).stdout, /^Usage: sallyport-registry /)
  assert.match(startedBin('bin-proxy', ['stdio', '--help']).stdout, /^Usage: sallyport-proxy stdio /)
  assert.equal(startedBin('bin-proxy', ['tunnel', '--target-uri', 'https://a']).status, 2)
})

test('variables set options', async (t) => {
  const { code, stderr } = await run(t, ['registry'], { SALLYPORT_AUTH_MODE: 'open' })

  assert.equal(code, 2)
  assert.match(stderr, /^SALLYPORT_AUTH_MODE: /)
})

test('help and version load no command and none of the heavy packages', () => {
  const unbundled = join(root, 'cli/bin.js')
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

test('on an old Node the program says so in one line, before it loads anything else', () => {
  for (const version of ['20.18.3', '8.0.0']) {
    const old = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
    const { status, stdout, stderr } = evaluate(`${old}; await import('${pathToFileURL(bin)}')`)

    assert.equal(status, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^sallyport needs Node .*\n$/)
    assert.ok(stderr.includes(version))
  }
})

test('an unexpected error is one line, and --debug adds its stack', async () => {
  const printed = async (error: Error, debug: boolean) => {
    const { io, output } = testIo()
    return { code: await printError(error, io, debug), ...output }
  }
  const plain = await printed(new Error('it broke'), false)
  const debug = await printed(new Error('it broke', { cause: new Error('the disk') }), true)
  const refused = await printed(
    new ConfigError([
      { place: 'a', message: 'b' },
      { place: 'c', message: 'd' },
    ]),
    true,
  )

  assert.deepEqual(plain, { code: 1, stdout: '', stderr: 'sallyport: it broke\n' })
  assert.equal(debug.code, 1)
  assert.match(debug.stderr, /^sallyport: it broke\nError: it broke\n +at /)
  assert.match(debug.stderr, /\ncaused by: Error: the disk\n +at /)
  assert.deepEqual(refused, { code: 2, stdout: '', stderr: 'a: b\nc: d\n' })
})

test('a plugin that ends the process causes a failure exit code', (t) => {
  const root = folder(t, {
    'ends.mjs': 'process.exit(0)',
    'ends-later.mjs': `
      const setup = () => { setImmediate(() => process.exit(3)) }
      export default { name: 'ends', api: 1, setup }`,
    'throws.mjs': `setImmediate(() => { throw new Error('out of reach') }); await new Promise(() => {})`,
  })
  const sentence = /^sallyport: the process ended early \(code (\d+)\): a plugin called process\.exit\n/m
  const ended = (command: string, plugin: string) => {
    const file = join(root, 'gateway.yaml')
    writeFileSync(file, `plugins: [{ use: ./${plugin}.mjs }]\n`)
    const { status, stderr } = startedBin('bin', [command, '--config', file])
    return [status, sentence.exec(stderr)?.[1]]
  }

  assert.deepEqual(ended('run', 'ends'), [1, '0'])
  assert.deepEqual(ended('check', 'ends'), [1, '0'])
  assert.deepEqual(ended('run', 'ends-later'), [3, '3'])
  assert.deepEqual(ended('check', 'throws'), [1, undefined])
})
