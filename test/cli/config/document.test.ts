import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import type { Root } from '#cli/config/document.js'
import { readDocument } from '#cli/config/document.js'
import { folder } from '#kit/folder.js'
import { placesOf } from '../parsed.js'

async function read(t: TestContext, text: string | Uint8Array, root?: Root) {
  const home = folder(t)
  const file = join(home, 'sallyport.yaml')
  writeFileSync(file, text)
  const { document, problems } = await readDocument(file, {}, root)
  const withoutHome = problems.map((problem) => ({
    ...problem,
    place: problem.place.replace(`${home}/`, ''),
  }))
  return { document, problems: withoutHome, home, file }
}

const sample = `address: 127.0.0.1:8080
auth:
  oauth:
    realm: mine
    providers:
      - name: corp
        audience: registry
      - { name: other, issuerUrl: 'https://b' }
empty:
`

test('YAML and JSON give the same document', async (t) => {
  const yaml = await read(t, 'a: 1\nb: [x, {c: true}]\n')
  const json = await read(t, '{"a": 1,\t"b": ["x", {"c": true}]}')

  assert.deepEqual(yaml.document?.value, { a: 1, b: ['x', { c: true }] })
  assert.deepEqual(json.document?.value, yaml.document?.value)
})

test('a path is located at its line and column', async (t) => {
  const { document, file, home } = await read(t, sample)
  const at = (...path: (string | number)[]) => document?.locate(path).replace(`${file}:`, '')

  assert.equal(document?.folder, home)
  assert.equal(at('address'), '1:10 address')
  assert.equal(at('auth', 'oauth', 'realm'), '4:12 auth.oauth.realm')
  assert.equal(at('auth', 'oauth', 'providers', 0, 'audience'), '7:19 auth.oauth.providers[0].audience')
  assert.equal(at('auth', 'oauth', 'providers', 1, 'issuerUrl'), '8:35 auth.oauth.providers[1].issuerUrl')
  assert.equal(at('auth', 'oauth', 'providers', 1), '8:9 auth.oauth.providers[1]')
  assert.equal(at('empty'), '9:1 empty')
  assert.equal(document?.locate(['auth', 'oauth', 'realm'], 'key'), `${file}:4:5 auth.oauth.realm`)
})

test('a missing setting is located at its nearest parent, with its whole path', async (t) => {
  const { document, file } = await read(t, sample)

  assert.equal(document?.locate(['auth', 'mode']), `${file}:3:3 auth.mode`)
  assert.equal(
    document?.locate(['auth', 'oauth', 'providers', 7, 'x']),
    `${file}:6:7 auth.oauth.providers[7].x`,
  )
  assert.equal(document?.locate(['a key', 0]), `${file}:1:1 ["a key"][0]`)
})

test('places are found behind an alias', async (t) => {
  const { document, file } = await read(t, 'a: &one\n  b: 1\nc: *one\n')

  assert.deepEqual(document?.value, { a: { b: 1 }, c: { b: 1 } })
  assert.equal(document?.locate(['c', 'b']), `${file}:2:6 c.b`)
})

test('every syntax error is reported, without a piece of the file', async (t) => {
  const { document, problems } = await read(t, 'a: "hunter2\\q"\nb: *hunter2\na: again\n')

  assert.equal(document, undefined)
  assert.deepEqual(placesOf({ problems }), [
    'sallyport.yaml:1:12',
    'sallyport.yaml:2:4',
    'sallyport.yaml:3:1',
  ])
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('a repeated key is an error', async (t) => {
  for (const text of ['a: 1\na: 2\n', '{"a": 1, "a": 2}', 'b:\n  a: 1\n  a: 1\n']) {
    assert.equal((await read(t, text)).problems.length, 1, text)
  }
})

test('a file that is no single mapping is refused', async (t) => {
  for (const text of ['', '# nothing\n', '- a\n', 'a\n', '12', 'null', 'a: 1\n---\nb: 2\n']) {
    const { document, problems } = await read(t, text)
    assert.equal(document, undefined, text)
    assert.equal(problems.length, 1, text)
  }
  assert.deepEqual((await read(t, '- a\n', 'mapping or list')).document?.value, ['a'])
})

test('aliases that expand too often are refused', async (t) => {
  const levels = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(10)}]`)
  const { document, problems } = await read(t, `l0: &l0 [x]\n${levels.join('\n')}\n`)

  assert.equal(document, undefined)
  assert.equal(problems.length, 1)
})

test('an alias that holds itself is refused, at its line', async (t) => {
  const { document, problems } = await read(t, 'a: &a\n  b: *a\n')

  assert.equal(document, undefined)
  assert.deepEqual(placesOf({ problems }), ['sallyport.yaml:2:6'])
})

test('a file that is nested too deeply is refused', async (t) => {
  const chain = Array.from(
    { length: 90 },
    (_, n) => `l${n + 1}: &l${n + 1} ${'['.repeat(90)}*l${n}${']'.repeat(90)}`,
  )
  const texts = [`a: ${'['.repeat(20_000)}`, '- '.repeat(5000), `l0: &l0 x\n${chain.join('\n')}\n`]

  for (const text of texts) {
    const { document, problems } = await read(t, text)
    assert.equal(document, undefined)
    assert.equal(problems.length, 1)
  }
})

test('a __proto__ key is refused wherever it stands', async (t) => {
  for (const text of ['__proto__: {a: 1}\n', 'b: [{"__proto__": {a: 1}}]\n', '"__pro\\x74o__": 1\n']) {
    const { document, problems } = await read(t, text)
    assert.equal(document, undefined, text)
    assert.equal(problems.length, 1, text)
  }
  assert.equal(Reflect.get({}, 'a'), undefined)
})

test('tags that are unknown and keys that are no text are refused', async (t) => {
  for (const text of ['a: !exec ls\n', '? [a]\n: 1\n', 'a: !!int x\n']) {
    assert.ok((await read(t, text)).problems.length > 0, text)
  }
})

test('a file that cannot be read is reported by its name', async (t) => {
  const home = folder(t)
  const missing = await readDocument(join(home, 'none.yaml'), {})
  const directory = await readDocument(home, {})
  const binary = await read(t, new Uint8Array([0xff, 0xfe, 0x00]))

  assert.deepEqual(placesOf(missing), [join(home, 'none.yaml')])
  assert.deepEqual(placesOf(directory), [home])
  assert.deepEqual(placesOf(binary), ['sallyport.yaml'])
})

test('a file that this user may not read is reported as such', {
  skip: process.getuid?.() === 0,
}, async (t) => {
  const home = folder(t, { 'a.yaml': 'a: 1' })
  chmodSync(join(home, 'a.yaml'), 0)

  assert.equal((await readDocument(join(home, 'a.yaml'), {})).problems.length, 1)
})
