import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { cli } from '#kit/program.js'

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const document = (more: object = {}): string =>
  JSON.stringify(
    { $schema: SCHEMA, name: 'com.example/weather', description: 'x', version: '1.0.0', ...more },
    undefined,
    2,
  )

const validate = (t: TestContext, argv: readonly string[], cwd: string, input = '') =>
  cli(t, ['validate', ...argv], { cwd, input })

test('valid documents are counted and end with 0, also with warnings', async (t) => {
  const old = document({ $schema: SCHEMA.replace('2025-12-11', '2025-10-17') })
  const cwd = folder(t, { 'server.json': document(), 'old.json': old })
  const { code, stdout, stderr } = await validate(t, ['server.json', 'old.json'], cwd)
  assert.equal(code, 0, stderr)
  const [issue, summary] = stdout.trim().split('\n')
  assert.match(issue ?? '', /^old\.json:2:14: warning: .* \(schema\)$/)
  assert.equal(summary, '2 documents, valid: 0 errors, 1 warning')
})

test('each issue has its line, and the exit code is 1', async (t) => {
  const cwd = folder(t, { 'server.json': document({ version: '1.x', odd: 1 }) })
  const { code, stdout } = await validate(t, ['server.json'], cwd)
  assert.equal(code, 1)
  const [version, odd, summary] = stdout.trim().split('\n')
  assert.match(version ?? '', /^server\.json:5:14: error: .* \(version\)$/)
  assert.match(odd ?? '', /^server\.json:6:3: error: .* \(odd\)$/)
  assert.equal(summary, '1 document, 1 of them not valid: 2 errors, 0 warnings')
})

test('a folder is searched for server.json and for files that name the schema', async (t) => {
  const cwd = folder(t, {
    'a/server.json': '{}',
    'b/weather.json': document(),
    'b/package.json': '{ "name": "other" }',
    'node_modules/x/server.json': '{}',
  })
  const { code, stdout } = await validate(t, ['--json', '.'], cwd)
  assert.equal(code, 1)
  const reported = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    reported.map(({ file, valid, name }) => ({ file, valid, name })),
    [
      { file: join('a', 'server.json'), valid: false, name: undefined },
      { file: join('b', 'weather.json'), valid: true, name: 'com.example/weather' },
    ],
  )
  assert.deepEqual(Object.keys(reported[0].issues[0]).toSorted(), [
    'column',
    'line',
    'message',
    'path',
    'reference',
    'severity',
    'type',
  ])
})

test('standard input is a document too', async (t) => {
  const { code, stdout } = await validate(t, ['-'], folder(t), document({ title: ' ' }))
  assert.equal(code, 1)
  assert.match(stdout, /^<stdin>:6:12: error: /)
})

test('an unreadable file ends with 2, and the other files are still checked', async (t) => {
  const cwd = folder(t, { 'server.yaml': 'name: a', 'server.json': document({ odd: 1 }), 'empty/x.txt': '' })
  const { code, stdout, stderr } = await validate(
    t,
    ['server.yaml', 'missing.json', 'empty', 'server.json'],
    cwd,
  )
  assert.equal(code, 2)
  assert.match(stdout, /server\.json:6:3: error/)
  assert.deepEqual(
    stderr
      .trim()
      .split('\n')
      .map((line) => line.split(/[: ]/, 1)[0]),
    ['server.yaml', 'missing.json', 'empty'],
  )
  assert.match(stderr, /YAML/)
  assert.equal((await validate(t, [], cwd)).code, 2)
})

test('text in a document sends no commands to the terminal', async (t) => {
  const cwd = folder(t, { 'server.json': document({ '\u001b[31m': 1 }) })
  const { stdout } = await validate(t, ['server.json'], cwd)
  assert.ok(!stdout.includes('\u001b'))
  assert.match(stdout, /\(\\x1b\[31m\)/)
})
