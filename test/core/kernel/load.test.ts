import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, planList } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { booted, recordedLog } from '../kit/booted.js'
import { folder } from '../kit/folder.js'

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

async function complaints(files: Record<string, string>, list: Parameters<typeof planList>[0], at: string) {
  try {
    await planList(list, { catalogue, folder: at, log: recordedLog().log })
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
  return assert.fail(`nothing was wrong with ${Object.keys(files)}`)
}

test('a plugin in a folder of its own provides a capability and a route', async (t) => {
  const root = folder(t, { 'mine/hello.mjs': hello })
  const app = await booted(t, [{ use: './mine/hello.mjs' }], { folder: root })

  assert.equal((await app.inject('/hello')).body, 'hello you')
})

test('a package is looked for from the folder of the configuration', async (t) => {
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

test('each way of being wrong has a message of its own', async (t) => {
  const plugin = (body: string): string => `export default { name: 'x', api: 1, setup() {}, ${body} }`
  const cases: Record<string, { text?: string; expected: RegExp }> = {
    './absent.mjs': { expected: /"\.\/absent\.mjs" not found: no such file/ },
    'no-such-package': { expected: /not found: neither a built-in plugin nor a package/ },
    './empty.mjs': { text: 'export const plugin = 1', expected: /no default export/ },
    './function.mjs': { text: 'export default () => {}', expected: /not a plugin: expected an object/ },
    './shape.mjs': {
      text: 'export default { name: 7 }',
      expected: /name must be a text; api must .*; setup must/,
    },
    './handles.mjs': { text: plugin('provides: ["guard"]'), expected: /provides must list capabilities/ },
    './options.mjs': { text: plugin('options: {}'), expected: /options must be a Standard Schema/ },
    './newer.mjs': { text: plugin('api: 2'), expected: /API level 2, this kernel has 1: update sallyport/ },
    './older.mjs': {
      text: plugin('api: 0'),
      expected: /API level 0, this kernel has 1: use a newer version of the plugin/,
    },
    './syntax.mjs': { text: 'export default {', expected: /could not be loaded: / },
    './throws.mjs': {
      text: 'throw new Error("at the top")',
      expected: /could not be loaded: at the top \(\S*throws\.mjs:1:7\)$/,
    },
    './needs.mjs': { text: 'import "not-installed"', expected: /was found, but it imports "not-installed"/ },
  }
  const files = Object.fromEntries(
    Object.entries(cases).flatMap(([use, { text }]) => (text === undefined ? [] : [[use, text]])),
  )
  const root = folder(t, files)

  const problems = await complaints(
    files,
    Object.keys(cases).map((use) => ({ use })),
    root,
  )
  assert.equal(problems.length, Object.keys(cases).length, 'one line for each, all at once')
  for (const [index, { expected }] of Object.values(cases).entries()) {
    assert.match(problems[index]?.message ?? '', expected)
    assert.equal(problems[index]?.place, `plugins[${index}].use`)
  }
})

test("a mistake in somebody's own plugin is told with its line, at the start and in the log", async (t) => {
  const of = (body: string): string =>
    `export default { name: 'mine', api: 1, setup(gateway) {\n  ${body}\n} }`
  const asked = `gateway.http.get('/', () => null.asked)`
  const root = folder(t, { 'set-up.mjs': of('null.there'), 'asked.mjs': of(asked), 'old.cjs': 'null.there' })
  const { log, lines } = recordedLog()

  for (const [use, line] of Object.entries({ 'set-up.mjs': '2:8', 'old.cjs': '1:6' })) {
    const failed = booted(t, [{ use: `./${use}` }], { folder: root })
    await assert.rejects(failed, ({ message }) => message.endsWith(`/${use}:${line})`))
  }
  const list = [{ use: 'auth/anonymous' }, { use: './asked.mjs' }]
  const app = await booted(t, list, { folder: root, log })
  await app.inject('/')
  const told = lines.flatMap(({ err }) => (err === undefined ? [] : [Object(err).at]))
  assert.equal(told.length, 1)
  assert.match(told[0], /\/asked\.mjs:2:36$/)
})

test('a built-in name that is nearly right gets a suggestion', async (t) => {
  const [problem] = await complaints({}, [{ use: 'gaurd/origin' }], folder(t))
  assert.equal(problem?.suggestion, 'guard/origin')
})

test('an id that is used twice is refused, and scopes keep their own', async (t) => {
  const origin = { use: 'guard/origin', with: { allowed: [] } }
  const root = folder(t)
  const problems = await complaints({}, [origin, origin], root)
  assert.match(problems[0]?.message ?? '', /"guard\/origin" is in the list already, at plugins\[0\]/)

  await planList([origin, { ...origin, id: 'second' }, { scope: '/a', plugins: [origin] }], {
    catalogue,
    folder: root,
    log: recordedLog().log,
  })
})

test('wrong options are told all at once, with their place and a suggestion, and never their value', async (t) => {
  const list = [
    { use: 'guard/origin', with: { alowed: ['hunter2'] } },
    {
      use: 'listen/http',
      with: { address: 'hunter2', headersTimeout: 'hunter2' },
      origin: { address: ['listen', 'at'] },
    },
    { use: 'auth/anonymous', with: { secret: 'hunter2' } },
  ]
  const problems = await complaints({}, list, folder(t))

  assert.deepEqual(
    problems.map(({ place, suggestion }) => [place, suggestion]),
    [
      ['plugins[0].with.alowed (guard/origin)', 'allowed'],
      ['listen.at (listen/http)', undefined],
      ['plugins[1].with.headersTimeout (listen/http)', undefined],
      ['plugins[2].with.secret (auth/anonymous)', undefined],
    ],
  )
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('a bound that is not kept is told in words of an operator', async (t) => {
  const provider = { name: 'corp', issuerUrl: 'https://idp.example.com', audience: '' }
  const page = { name: 'far', url: 'https://registry.example.com', maxPageBytes: 0 }
  const list = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: provider },
    { use: 'headers/stored', with: { headers: [] } },
    { use: 'source/http', with: page },
  ]

  assert.deepEqual(
    (await complaints({}, list, folder(t))).map(({ message }) => message),
    ['expected a text that is not empty', 'expected >=1 items', 'expected a number >0'],
  )
})

test('a path that leaves the folder of a scope, or none at all, is no scope', async (t) => {
  for (const scope of ['github', '/github/', '/', '', '/a b', '/:name', '/*']) {
    const problems = await complaints({}, [{ scope, plugins: [] }], folder(t))
    assert.equal(problems[0]?.place, 'plugins[0].scope', scope)
  }
})
