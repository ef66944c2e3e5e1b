import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { TRIAL_FLAGS, type TrialFinding } from 'sallyport/embed'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'

const CHILD = join(import.meta.dirname, 'trial-child.ts')

/** A plugin that declares these capabilities, with this setup. */
const plugin = (name: string, provides: string, setup: string): string => `
  import { ConfigError, definePlugin, Guard, Health, Policy } from 'sallyport'
  import { writeFileSync } from 'node:fs'
  import { spawnSync } from 'node:child_process'
  export default definePlugin({ name: '${name}', api: 1, provides: [${provides}], async setup(gateway) { ${setup} } })`

async function tried(
  t: TestContext,
  plugins: Readonly<Record<string, readonly [provides: string, setup: string]>>,
  around: readonly object[] = [],
) {
  const files = Object.entries(plugins).map(([name, [provides, setup]]) => [
    `${name}.mjs`,
    plugin(name, provides, setup),
  ])
  const root = folder(t, Object.fromEntries(files))
  const list = [...around, ...Object.keys(plugins).map((name) => ({ use: `./${name}.mjs` }))]
  // Runs the sources, however the test was started; tsx needs a worker, and would write its cache.
  const flags = [...TRIAL_FLAGS, '--allow-worker', '--no-warnings', '-C', 'source', '--import', 'tsx']
  const env = { ...process.env, TSX_DISABLE_CACHE: '1', NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...flags, CHILD, root, JSON.stringify(list)],
    { env },
  )
  return { findings: JSON.parse(stdout) as TrialFinding[], root }
}

test('a trial reports missing and undeclared capabilities, refused options and errors of every plugin', async (t) => {
  const { findings } = await tried(t, {
    forgets: ['Policy', ''],
    undeclared: ['', 'gateway.provide(Guard, () => {})'],
    refuses: ['', "throw new ConfigError([{ place: 'path', message: 'not there' }])"],
    throws: ['', "throw new TypeError('a slip')"],
    hangs: ['', 'await new Promise(() => {})'],
    good: ['Guard', 'gateway.provide(Guard, () => {})'],
  })
  assert.deepEqual(
    findings.map(({ kind, place }) => [kind, place]),
    [
      ['contract', 'plugin "forgets"'],
      ['contract', 'plugin "undeclared"'],
      ['options', 'plugin "refuses": path'],
      ['error', 'plugin "throws"'],
      ['error', 'plugin "hangs"'],
    ],
  )
  assert.match(findings[0]?.message ?? '', /policy/)
})

test('a trial opens no port, writes no file and starts no process', async (t) => {
  let asked = 0
  const url = await listening(t, (_request, response) => response.end(String(++asked)))
  const { findings, root } = await tried(
    t,
    {
      fetches: ['', `await fetch('${url}')`],
      writes: ['', "writeFileSync(gateway.path('written'), 'x')"],
      spawns: ['', "spawnSync('true')"],
      starts: [
        'Guard',
        `gateway.provide(Guard, () => {}); gateway.onStart(() => { throw new Error('started') })`,
      ],
    },
    [
      { use: 'listen/http', with: { address: '127.0.0.1:0' } },
      { use: 'audit/file', with: { path: 'audit.jsonl' } },
    ],
  )
  assert.deepEqual(
    findings.map(({ kind, place }) => [kind, place]),
    ['fetches', 'writes', 'spawns'].map((name) => ['unseen', `plugin "${name}"`]),
  )
  assert.equal(asked, 0)
  assert.deepEqual([existsSync(join(root, 'written')), existsSync(join(root, 'audit.jsonl'))], [false, false])
})
