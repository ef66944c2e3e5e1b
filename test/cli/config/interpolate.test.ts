import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { interpolate } from '#cli/config/interpolate.js'
import { pathText } from '#core/toolkit/path-text.js'
import { folder } from '#kit/folder.js'
import { placesOf } from '../parsed.js'

function put(value: unknown, environment: Readonly<Record<string, string>> = {}, home = '/nowhere') {
  return interpolate(value, { folder: home, environment, locate: pathText })
}

const open = '$' + '{'

test('variables and files stand in for parts of any text', async (t) => {
  const home = folder(t, { 'token.txt': 'of a file\n', 'sub/two': 'a\n\n' })
  const written = {
    a: `Bearer ${open}env:TOKEN}`,
    b: [`${open}file:token.txt}`, { c: `${open}file:./sub/two}-${open}env:TOKEN}` }],
    d: 3,
  }

  const { value, problems } = await put(written, { TOKEN: 'x' }, home)
  assert.deepEqual(problems, [])
  assert.deepEqual(value, { a: 'Bearer x', b: ['of a file', { c: 'a\n-x' }], d: 3 })
})

test('values from outside are kept as secrets, whole and in parts', async () => {
  const { secrets } = await put({ a: `Bearer ${open}env:TOKEN}`, b: 'plain' }, { TOKEN: 'x' })

  assert.deepEqual([...secrets], ['x', 'Bearer x'])
})

test('a pipe is read once, and a second read does not wait for it', {
  skip: process.platform === 'win32',
}, async (t) => {
  const home = folder(t, {})
  spawnSync('mkfifo', [join(home, 'pipe')])
  const [first] = await Promise.all([
    put({ a: `${open}file:pipe}` }, {}, home),
    writeFile(join(home, 'pipe'), 'once\n'),
  ])
  assert.deepEqual(first.value, { a: 'once' })

  const again = await put({ a: `${open}file:./pipe}` }, {}, home)
  assert.match(again.problems[0]?.message ?? '', /pipe: it is a pipe, and cannot be read again/)
})

test('a value adds no structure and no further reference', async () => {
  const hostile = `${open}env:OTHER}: [a]\nadmin: true`
  const { value, problems } = await put({ a: `${open}env:TOKEN}` }, { TOKEN: hostile, OTHER: 'no' })

  assert.deepEqual(problems, [])
  assert.deepEqual(value, { a: hostile })
})

test('references in keys are not replaced', async () => {
  const written = { [`${open}env:A}`]: 1 }

  assert.deepEqual((await put(written, { A: 'x' })).value, written)
})

test('a doubled dollar sign keeps a brace as it is', async () => {
  const { value, secrets } = await put({ a: `$${open}env:A} $5 $$ {x}`, b: `$$${open}env:A}` }, { A: 'x' })

  assert.deepEqual(value, { a: `${open}env:A} $5 $$ {x}`, b: `$${open}env:A}` })
  assert.equal(secrets.size, 0)
})

test('every unresolved reference is reported at its place', async (t) => {
  const home = folder(t, { 'a/b': '' })
  const { problems } = await put(
    {
      unset: `${open}env:NONE}`,
      inherited: `${open}env:toString}`,
      missing: `${open}file:none}`,
      directory: `${open}file:a}`,
      list: [`${open}hunter2}`, `${open}evn:B}`, `${open}env:}`],
      open: `x ${open}env:AB`,
    },
    { A: 'a variable whose name begins like it' },
    home,
  )

  assert.deepEqual(placesOf({ problems }), [
    'unset',
    'inherited',
    'missing',
    'directory',
    'list[0]',
    'list[1]',
    'list[2]',
    'open',
  ])
  assert.equal(problems[5]?.suggestion, 'env')
  assert.ok(!JSON.stringify(problems).includes('hunter2'))
})

test('text without references is never changed', async () => {
  const plain = fc.jsonValue().filter((value) => !JSON.stringify(value).includes(open))
  await fc.assert(
    fc.asyncProperty(plain, async (value) => {
      assert.deepEqual((await put(value)).value, value)
    }),
  )
})

test('any text can be written with doubled dollar signs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('a', '}', open, 'env:A')), async (pieces) => {
      const text = pieces.join('')
      const escaped = text.replaceAll(open, () => `$${open}`)

      assert.equal((await put(escaped, { A: 'x' })).value, text)
    }),
  )
})
