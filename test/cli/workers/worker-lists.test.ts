import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'
import { anew } from './several.js'

const SHOWS = `
  import { inspect } from 'node:util'
  import { definePlugin } from 'sallyport'
  export default definePlugin({
    name: 'shows',
    api: 1,
    options: { '~standard': { version: 1, vendor: 'the test', validate: (value) => ({ value }) } },
    setup(gateway, options) {
      const { shared, again, ...rest } = options
      const seen = inspect({ ...rest, shared, same: shared === again, path: gateway.path('here') }, { depth: 9 })
      gateway.http.get(rest.at, { config: { public: true } }, async () => seen)
    },
  })`

// Whatever a file can hold, and some of it is not JSON.
const OPTIONS = `
      at: /PLACE
      date: 2026-01-02
      none: null
      never: .nan
      ends: [.inf, -.inf, -0.0]
      large: 9007199254740993
      text: "\\u0000 \\ud83d\\ude00 \\u2028"
      deep: { a: [{ b: { c: [[]] } }] }
      from: \${env:SHOWN}
      shared: &one { x: 1 }
      again: *one`

const LIST = `
plugins:
  - { use: listen/http, with: { address: '127.0.0.1:0' } }
  - use: ./plugins/shows.mjs
    with:${OPTIONS.replace('PLACE', 'file')}
  - use: shows-of-a-package
    id: other
    with:${OPTIONS.replace('PLACE', 'package')}
`

const PACKAGE = JSON.stringify({ name: 'shows-of-a-package', type: 'module', exports: './index.mjs' })

const begun = (t: TestContext, home: string, file: string, workers: number) =>
  (workers === 1 ? program : startedProgram)(
    t,
    ['run', '--config', join(home, file), '--workers', String(workers)],
    { environment: { SHOWN: 'a text of the environment' }, patience: 60 },
  )

test('plugins from files and packages get the same options in every worker as in one process', async (t) => {
  const home = folder(t, {
    'gateway.yaml': LIST,
    'plugins/shows.mjs': SHOWS,
    'node_modules/shows-of-a-package/package.json': PACKAGE,
    'node_modules/shows-of-a-package/index.mjs': SHOWS,
  })
  const shown = async (workers: number): Promise<readonly string[]> => {
    const url = await begun(t, home, 'gateway.yaml', workers).ready()
    const paths = Array.from({ length: 6 }, () => ['/file', '/package']).flat()
    const answers = await Promise.all(paths.map((path) => anew(url + path, path)))
    return [...new Set(answers.map(({ body = '' }) => body))].toSorted()
  }

  const [alone, together] = await Promise.all([shown(1), shown(2)])
  assert.equal(alone.length, 2)
  assert.match(alone.join(), /a text of the environment.*same: /s)
  assert.deepEqual(together, alone)
})

test('one process and several log the same warnings of a plugin at the start', async (t) => {
  const plugin = (body: string): string =>
    `import { ConfigError, GatewayError } from 'sallyport'
     export default { name: 'fails', api: 1, setup(gateway) { ${body} } }`
  const list = (file: string): string =>
    `plugins:\n  - { use: listen/http, with: { address: '127.0.0.1:0' } }\n  - { use: ./${file} }\n`
  const home = folder(t, {
    'config.mjs': plugin("throw new ConfigError([{ place: 'here', message: 'not so' }])"),
    'config.yaml': list('config.mjs'),
    'code.mjs': plugin("gateway.onStart(() => { throw new GatewayError('FAILED', 'cannot start') })"),
    'code.yaml': list('code.mjs'),
  })
  const reported = async (file: string, workers: number) => {
    const gateway = begun(t, home, file, workers)
    const code = await gateway.ended()
    const lines = gateway.output.stderr.split('\n').filter((line) => !line.startsWith('{'))
    return { code, lines }
  }

  for (const [file, code] of [
    ['config.yaml', 2],
    ['code.yaml', 1],
  ] as const) {
    const [alone, together] = [await reported(file, 1), await reported(file, 2)]
    assert.equal(alone.code, code)
    assert.deepEqual(together, alone)
  }
})

test('the response comes from the worker that did the request, not from those that passed it on', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `
plugins:
  - { use: listen/http, with: { address: '127.0.0.1:0' } }
  - { use: internal/server, with: { address: '127.0.0.1:0' } }
  - { use: ./leads.mjs }
`,
    'leads.mjs': `
      import { mkdirSync } from 'node:fs'
      export default { name: 'leads', api: 1, setup(gateway) {
        gateway.internal.post('/work', async (request, reply) => {
          try {
            mkdirSync(gateway.path('done'))
            return { did: request.body.what }
          } catch {
            return reply.code(202).send({ did: 'not' })
          }
        })
      } }`,
  })
  const gateway = begun(t, home, 'gateway.yaml', 2)
  await gateway.ready()
  const internal = /metrics on (\S+)\)/.exec(gateway.output.stdout)?.[1] ?? ''
  for (const status of [200, 202]) {
    const answer = await fetch(`${internal}/work`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{ "what": "all" }',
    })
    assert.equal(answer.status, status)
    assert.deepEqual(await answer.json(), { did: status === 200 ? 'all' : 'not' })
  }
})
