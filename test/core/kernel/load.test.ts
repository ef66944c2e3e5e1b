import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { problemsOf } from './problems-of.js'

const hello = `
import { definePlugin, Authenticator } from 'sallyport'
export default definePlugin({
  name: 'hello',
  api: 1,
  provides: [Authenticator],
  setup(gateway) {
    gateway.provide(Authenticator, {
      provider: 'hello',
      authenticate: () => ({ identity: { provider: 'hello', subject: 'you', claims: {} } }),
    })
    gateway.http.get('/hello', (request) => 'hello ' + request.identity.subject)
  },
})
`

test('a plugin from a file provides a capability and a route', async (t) => {
  const root = folder(t, { 'mine/hello.mjs': hello })
  const app = await booted(t, [{ use: './mine/hello.mjs' }], { folder: root })

  assert.equal((await app.inject('/hello')).body, 'hello you')
})

test('a package is resolved from the folder of the configuration', async (t) => {
  const root = folder(t, {
    'node_modules/sallyport-hello/package.json':
      '{"name":"sallyport-hello","type":"module","exports":"./index.js"}',
    'node_modules/sallyport-hello/index.js': hello,
    'node_modules/@me/hello/package.json':
      '{"name":"@me/hello","type":"module","exports":{"import":"./index.js"}}',
    'node_modules/@me/hello/index.js': hello
      .replace("'/hello'", "'/other'")
      .replace("name: 'hello'", "name: 'other'"),
  })
  const app = await booted(t, [{ use: 'sallyport-hello' }, { use: '@me/hello' }], { folder: root })

  assert.equal((await app.inject('/hello')).body, 'hello you')
  assert.equal((await app.inject('/other')).body, 'hello you')
})

test('each mistake has a message of its own', async (t) => {
  const plugin = (body: string): string => `export default { name: 'x', api: 1, setup() {}, ${body} }`
  const cases: Record<string, { text?: string; expected: RegExp }> = {
    './absent.mjs': { expected: /"\.\/absent\.mjs" not found: no such file/ },
    'no-such-package': { expected: /not found: neither a built-in plugin nor an installed package/ },
    './empty.mjs': { text: 'export const plugin = 1', expected: /no default export/ },
    './function.mjs': { text: 'export default () => {}', expected: /not a plugin: expected an object/ },
    './shape.mjs': {
      text: 'export default { name: 7 }',
      expected: /name must be a text; api must .*; setup must/,
    },
    './handles.mjs': { text: plugin('provides: ["guard"]'), expected: /provides must list capabilities/ },
    './stdout.mjs': { text: plugin("stdout: 'lines'"), expected: /stdout must be "protocol"/ },
    './examine.mjs': { text: plugin('examine: true'), expected: /examine must be a function/ },
    './warnings.mjs': { text: plugin('warnings: []'), expected: /warnings must be a function/ },
    './migrate.mjs': { text: plugin('migrate: []'), expected: /migrate must be a function/ },
    './facts.mjs': { text: plugin('facts: {}'), expected: /facts must be a function/ },
    './options.mjs': { text: plugin('options: {}'), expected: /options must be a Standard Schema/ },
    './newer.mjs': { text: plugin('api: 2'), expected: /API level 2, this kernel has 1: update sallyport/ },
    './older.mjs': {
      text: plugin('api: 0'),
      expected: /API level 0, this kernel has 1: use a newer version of the plugin/,
    },
    './syntax.mjs': { text: 'export default {', expected: /could not be loaded: .*; try `node --check / },
    './export.mjs': {
      text: 'import { Gaurd } from "sallyport"',
      expected: /could not be loaded: .* does not provide an export named 'Gaurd'$/,
    },
    './throws.mjs': {
      text: 'throw new Error("at the top")',
      expected: /could not be loaded: at the top \(\S*throws\.mjs:1:7\)$/,
    },
    './needs.mjs': { text: 'import "not-installed"', expected: /was found, but it imports "not-installed"/ },
    './requires.cjs': {
      text: 'require("not-installed")',
      expected:
        /was found, but it imports "not-installed", which does not exist: `npm install not-installed`$/,
    },
    './': { expected: /"\.\/" is a folder: name the file in it/ },
    './notes.txt': {
      text: 'later',
      expected: /notes\.txt" could not be loaded: Unknown file extension "\.txt"/,
    },
  }
  const files = Object.fromEntries(
    Object.entries(cases).flatMap(([use, { text }]) => (text === undefined ? [] : [[use, text]])),
  )
  const root = folder(t, files)

  const problems = await problemsOf(
    Object.keys(cases).map((use) => ({ use })),
    root,
  )
  assert.equal(problems.length, Object.keys(cases).length, 'one line for each, all at once')
  for (const [index, { expected }] of Object.values(cases).entries()) {
    assert.match(problems[index]?.message ?? '', expected)
    assert.equal(problems[index]?.place, `plugins[${index}].use`)
  }
})

test('a misspelled built-in name gets a suggestion', async (t) => {
  const [problem] = await problemsOf([{ use: 'gaurd/origin' }], folder(t))
  assert.equal(problem?.suggestion, 'guard/origin')
})

test('a file that is named without ./ gets its path as a suggestion', async (t) => {
  const files = { 'my-guard.js': hello }
  const [problem] = await problemsOf([{ use: 'my-guard.js' }], folder(t, files))
  assert.equal(problem?.suggestion, './my-guard.js')
})
