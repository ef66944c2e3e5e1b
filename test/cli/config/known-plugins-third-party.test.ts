import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { folder } from '#kit/folder.js'
import { listen } from '#kit/plugin.js'
import { program } from '#kit/program.js'

const root = join(import.meta.dirname, '../../..')

const SECRET = 'only-for-this-test'

const plugin = (name: string, capability: string, value: string): string => `
  import { ${capability}, definePlugin } from 'sallyport'
  import { z } from 'zod'
  export default definePlugin({
    name: '${name}', api: 1, summary: 'Is of a third party.', provides: [${capability}],
    options: z.strictObject({
      name: z.string().default('${name}').describe('its name'),
      key: z.string().meta({ writeOnly: true }).describe('the key'),
      level: z.enum(['low', 'high']).default('low').describe('how much'),
    }),
    setup(gateway, { name, key }) { gateway.provide(${capability}, ${value}) },
    examine: (examination, { level }) => examination.ok('level', '${name} is ' + level),
  })`

const plugins = {
  authenticator: plugin(
    'authenticator',
    'Authenticator',
    `{
      provider: name,
      authenticate: ({ credentials }) => credentials.token === key
        ? { identity: { provider: name, subject: 'one', claims: {} } }
        : { rejection: { kind: 'notMine', cause: 'key' } },
      explain: async (token) => ({
        verdict: token === key
          ? { identity: { provider: name, subject: 'one', claims: {} } }
          : { rejection: { kind: 'notMine', cause: 'key' } },
        findings: [{ about: 'key', holds: token === key, detail: 'compared' }],
      }),
    }`,
  ),
  store: plugin(
    'store',
    'StateStore',
    `{ get: async () => undefined, set: async () => {}, delete: async () => {}, keys: async () => [],
       locked: (_key, work) => work() }`,
  ),
  source: plugin(
    'source',
    'Source',
    `{ name, location: 'here', fetch: async () => ({ kind: 'whole', payloads: [] }) }`,
  ),
  tunnel: plugin(
    'tunnel',
    'Tunnel',
    `{ name, key: 'one', open: async () => { throw new Error('it is not opened here') } }`,
  ),
}
const names = Object.keys(plugins)
const useOf = (name: string): string => `./${name}.mjs`
const own = { key: SECRET }

/** A list for `run` with all four. */
const list = {
  plugins: [
    listen,
    ...names.map((name) => ({ use: useOf(name), with: own })),
    { use: 'tunnel/connection' },
    {
      use: 'registry/catalogue',
      with: { registries: [{ name: 'default', sources: ['source'] }] },
    },
  ],
}

/** The registry's file with all four, each where the file takes it. */
const registryFile = {
  address: '127.0.0.1:0',
  internalAddress: '127.0.0.1:0',
  auth: {
    oauth: {
      resourceUrl: 'https://registry.example',
      providers: [{ type: useOf('authenticator'), name: 'authenticator', ...own }],
    },
  },
  sources: [{ name: 'source', use: useOf('source'), with: own }],
  stateDirectory: null,
  plugins: [
    { use: useOf('store'), with: own },
    { use: useOf('tunnel'), with: own },
  ],
}

/** The proxy's file with all four, each beside what is there or in its place. */
const proxyFile = {
  targetUri: 'http://127.0.0.1:1/mcp',
  plugins: [
    { use: useOf('authenticator'), with: own, replaces: 'auth/anonymous' },
    { use: useOf('store'), with: own, before: 'forward/http' },
    { use: useOf('source'), with: own, after: 'forward/http' },
    { use: useOf('tunnel'), with: own },
  ],
}

const files = { run: list, registry: registryFile, proxy: proxyFile }

const words = { run: ['run'], registry: ['registry'], proxy: ['proxy', 'mine'] }

function written(t: TestContext): string {
  const home = folder(t, {
    ...Object.fromEntries(Object.entries(plugins).map(([name, text]) => [`${name}.mjs`, text])),
    ...Object.fromEntries(
      Object.entries(files).map(([kind, file]) => [`${kind}.json`, JSON.stringify(file)]),
    ),
    token: SECRET,
    wrong: 'another',
  })
  mkdirSync(join(home, 'node_modules'))
  symlinkSync(join(root, 'node_modules/zod'), join(home, 'node_modules/zod'))
  return home
}

async function printed(t: TestContext, cwd: string, ...argv: readonly string[]) {
  const running = program(t, argv, { cwd, patience: 40 })
  const code = await running.ended()
  return { code, ...running.output }
}

for (const kind of ['run', 'registry', 'proxy'] as const) {
  const file = `${kind}.json`

  test(`${kind}: --print-plugins shows plugins of a third party at their position, without their secrets`, async (t) => {
    const { code, stdout, stderr } = await printed(
      t,
      written(t),
      ...words[kind],
      '--config',
      file,
      '--print-plugins',
    )
    assert.equal(code, 0, stderr)
    for (const name of names) assert.match(stdout, new RegExp(`${name}\\.mjs`))
    assert.doesNotMatch(stdout + stderr, new RegExp(SECRET))
  })

  test(`${kind}: check names a wrong option of a third party, and its place`, async (t) => {
    const home = written(t)
    const good = await printed(t, home, 'check', '--config', file)
    assert.equal(good.code, 0, good.stderr)
    const faulty = JSON.stringify(files[kind]).replaceAll('"key":', '"level":"none","key":')
    writeFileSync(join(home, file), faulty)
    const { code, stderr } = await printed(t, home, 'check', '--config', file)
    assert.equal(code, 2)
    for (const name of names) assert.match(stderr, new RegExp(`level.*\\(.*${name}.*\\)`))
  })

  test(`${kind}: doctor runs the examination of each plugin`, async (t) => {
    const { stdout, stderr } = await printed(t, written(t), 'doctor', '--config', file, '--json')
    const findings: { detail: string; state: string }[] = JSON.parse(stdout)
    const details = findings.filter(({ state }) => state === 'ok').map(({ detail }) => detail)
    for (const name of names) assert.ok(details.includes(`${name} is low`), `${name}: ${stdout}${stderr}`)
    assert.doesNotMatch(stdout + stderr, new RegExp(SECRET))
  })

  test(`${kind}: explain asks the authenticator`, async (t) => {
    const home = written(t)
    const good = await printed(t, home, 'explain', '--config', file, '--token-file', 'token')
    assert.equal(good.code, 0, good.stdout + good.stderr)
    assert.match(good.stdout, /1\. authenticator: accepts it\n {3}ok {4}key {2}compared\n/)
    const wrong = await printed(t, home, 'explain', '--config', file, '--token-file', 'wrong')
    assert.equal(wrong.code, 1)
    assert.match(wrong.stdout, /1\. authenticator: refuses it \(key\)/)
  })

  test(`${kind}: the schema for editors has the options of each plugin`, async (t) => {
    const { stdout } = await printed(t, written(t), 'schema', kind, '--config', file)
    const validate = new Ajv2020({ strictSchema: true, allErrors: true, validateFormats: false }).compile(
      JSON.parse(stdout),
    )
    assert.equal(validate(files[kind]), true, JSON.stringify(validate.errors))
    for (const fault of [{ key: 7 }, { level: 'none' }, { unknown: true }]) {
      const text = JSON.stringify(files[kind])
      for (let at = text.indexOf('"key"'); at >= 0; at = text.indexOf('"key"', at + 1)) {
        const rest = text
          .slice(at)
          .replace(/^"key":"[^"]*"/, JSON.stringify({ ...own, ...fault }).slice(1, -1))
        const faulty = JSON.parse(text.slice(0, at) + rest)
        assert.equal(validate(faulty), false, JSON.stringify(faulty))
      }
    }
  })

  test(`${kind}: plugins lists each plugin with its summary`, async (t) => {
    const { stdout } = await printed(t, written(t), 'plugins', '--config', file)
    for (const name of names)
      assert.match(stdout, new RegExp(`^\\./${name}\\.mjs .*\\n  Is of a third party\\.$`, 'm'))
  })
}
