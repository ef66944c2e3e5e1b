import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'

/** A third-party plugin: the capabilities that it declares, and the code of its setup. */
const plugin = (name: string, provides: string, setup: string): string => `
  import { writeFileSync } from 'node:fs'
  import { ConfigError, definePlugin, Guard, Policy } from 'sallyport'
  export default definePlugin({ name: '${name}', api: 1, provides: [${provides}], async setup(gateway) { ${setup} } })`

/** A list in which each of these plugins has a line. */
const files = (plugins: Readonly<Record<string, readonly [provides: string, setup: string]>>) => ({
  'list.yaml': `${Object.keys(plugins)
    .map((name) => `- use: ./${name}.mjs`)
    .join('\n')}\n`,
  ...Object.fromEntries(
    Object.entries(plugins).map(([name, [provides, setup]]) => [
      `${name}.mjs`,
      plugin(name, provides, setup),
    ]),
  ),
})

const faulty = files({
  forgets: ['Policy', ''],
  undeclared: ['', 'gateway.provide(Guard, () => {})'],
  throws: ['', "console.log('printed'); throw new TypeError('a slip')"],
  refuses: ['', "throw new ConfigError([{ place: 'x', message: 'odd' }])"],
  good: ['Guard', 'gateway.provide(Guard, () => {})'],
})

const FAULTS = [
  /:1:8 .*`provides` lists policy/,
  /:2:8 .*guard was provided/,
  /:3:8 .*a slip/,
  /refuses.*: odd/,
]

function assertFaults({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): void {
  assert.equal(stdout, '')
  const lines = stderr.trim().split('\n')
  assert.equal(lines.length, FAULTS.length, stderr)
  for (const [index, fault] of FAULTS.entries()) assert.match(lines[index] ?? '', fault)
}

test('check reports missing and undeclared capabilities, refusals and errors of each setup, at the line of the plugin', async (t) => {
  const home = folder(t, faulty)
  const checking = program(t, ['check', '--config', join(home, 'list.yaml')])
  assert.equal(await checking.ended(), 2)
  assertFaults(checking.output)
})

test('the built program finds the same', async (t) => {
  const home = folder(t, faulty)
  const checking = startedProgram(t, ['check', '--config', join(home, 'list.yaml')])
  assert.equal(await checking.ended(), 2)
  assertFaults(checking.output)
})

test('check sends no request and writes nothing, and warns of a setup that would', async (t) => {
  let asked = 0
  const url = await listening(t, (_request, response) => response.end(String(++asked)))
  const home = folder(
    t,
    files({
      asks: ['', `await fetch('${url}')`],
      writes: ['', "writeFileSync(gateway.path('written'), 'x')"],
    }),
  )
  const checking = program(t, ['check', '--config', join(home, 'list.yaml')])
  assert.equal(await checking.ended(), 0, checking.output.stderr)
  assert.match(
    checking.output.stderr,
    /^warning: .*:1:8 .*cannot try setup.*\nwarning: .*:2:8 .*cannot try setup.*\n$/,
  )
  assert.equal(asked, 0)
  assert.equal(existsSync(join(home, 'written')), false)
})

test('check warns of a plugin that writes as soon as it is loaded, at the line that names it', async (t) => {
  const home = folder(t, {
    'list.yaml': '- use: ./early.mjs\n',
    'early.mjs': `${plugin('early', '', '')}; writeFileSync('/dev/null', '')`,
  })
  const checking = program(t, ['check', '--config', join(home, 'list.yaml')])
  assert.equal(await checking.ended(), 0, checking.output.stderr)
  assert.match(checking.output.stderr, /^warning: \S*list\.yaml:1:8 \S+: check cannot try setup.*\n$/)
})

for (const [what, setup, expected] of [
  ['ends the process', 'process.exit(3)', /list\.yaml: setup of a plugin ended the process \(code 3\)\n/],
  ['catches nothing', "Promise.reject(new Error('astray'))", /list\.yaml: an uncaught error.*: astray\n/],
] as const)
  test(`check reports a plugin that ${what}`, async (t) => {
    const home = folder(t, files({ mine: ['', setup] }))
    const checking = program(t, ['check', '--config', join(home, 'list.yaml')])
    assert.equal(await checking.ended(), 2)
    assert.match(checking.output.stderr, expected)
  })

test('check warns where the process for setup does not start', async (t) => {
  const home = folder(t, files({ mine: ['', ''] }))
  const environment = { NODE_OPTIONS: `--require=${join(home, 'absent.cjs')}` }
  const checking = program(t, ['check', '--config', join(home, 'list.yaml')], { environment })
  assert.equal(await checking.ended(), 0)
  assert.match(checking.output.stderr, /^warning: \S*list\.yaml: .*did not start \(code 1\)\n$/)
})

const PACKAGES = ['pg', 'ioredis', '@opentelemetry/', '@marcbachmann/cel-js']

test('check says how to install each optional package that a list needs and that is not there', async (t) => {
  const passphrase = 'a passphrase of many words'
  const home = folder(t, {
    'list.json': JSON.stringify([
      { use: 'store/postgres', with: { url: 'postgres://db.example/a' } },
      { use: 'state/postgres', with: { url: 'postgres://db.example/a', passphrase } },
      { use: 'trace/otlp', with: { url: 'https://otlp.example/v1/traces' } },
      {
        use: 'limit/requests',
        with: {
          limits: [{ by: 'caller', rate: '100/1m' }],
          redis: { url: 'redis://redis.example' },
        },
      },
    ]),
    'cel.json': JSON.stringify([{ use: 'policy/cel', with: {} }]),
    'resolve.mjs': `export const resolve = (name, context, next) => {
      if (!${JSON.stringify(PACKAGES)}.some((each) => name.startsWith(each))) return next(name, context)
      throw Object.assign(new Error(\`Cannot find package '\${name}' imported from CANARY\`), { code: 'ERR_MODULE_NOT_FOUND' })
    }`,
    'without.mjs': `import { register } from 'node:module'; register('./resolve.mjs', import.meta.url)`,
  })
  const checked = async (file: string) => {
    const environment = { NODE_OPTIONS: `--import=${join(home, 'without.mjs')}` }
    const checking = startedProgram(t, ['check', '--config', join(home, file)], { environment })
    assert.equal(await checking.ended(), 2)
    return checking.output.stderr
  }

  const advised = (text: string) => [...text.matchAll(/npm install (\S+?)[ `]/g)].map(([, first]) => first)
  const list = await checked('list.json')
  assert.deepEqual(advised(list), ['pg@8', 'pg@8', '@opentelemetry/api@1.9', 'ioredis@6'], list)
  const cel = await checked('cel.json')
  assert.deepEqual(advised(cel), ['@marcbachmann/cel-js'], cel)
  assert.doesNotMatch(list + cel, /CANARY/)
})

const fromSources =
  process.env['SALLYPORT_TEST_PACKAGE'] === undefined && 'tsx reads import statements in any file'

test('a .cjs file with import statements gets the name that it should have', {
  skip: fromSources,
}, async (t) => {
  const home = folder(t, {
    'list.yaml': '- use: ./mine.cjs\n',
    'mine.cjs': plugin('mine', '', ''),
  })
  const checking = startedProgram(t, ['check', '--config', join(home, 'list.yaml')])
  assert.equal(await checking.ended(), 2)
  assert.match(checking.output.stderr, /"\.\/mine\.cjs" could not be loaded: .*name it \.mjs/)
})
