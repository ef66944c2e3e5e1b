import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { redact } from 'sallyport/embed'
import { Secret } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'

const secret = { type: 'string', writeOnly: true }
const plain = { type: 'string' }

test('values that the schema marks are hidden, others that it describes are shown', () => {
  const schema = {
    $defs: { 'a/b': secret, tree: { properties: { leaf: secret, next: { $ref: '#/$defs/tree' } } } },
    properties: {
      shown: plain,
      number: { type: 'number', writeOnly: true },
      object: { writeOnly: true },
      list: { prefixItems: [plain, secret], items: plain },
      map: { additionalProperties: secret },
      pattern: { patternProperties: { '^x-': secret }, additionalProperties: plain },
      either: { anyOf: [{ type: 'number' }, { properties: { deep: secret, also: plain } }] },
      both: { allOf: [{ properties: { one: plain } }, { properties: { one: secret } }] },
      referred: { $ref: '#/$defs/a~1b' },
      tree: { $ref: '#/$defs/tree' },
      lost: { $ref: '#/$defs/none' },
      open: true,
    },
  }
  const value = {
    ...{
      shown: 'a',
      number: 5,
      object: { a: 1 },
      list: ['a', 'b', 'c'],
      map: { k: 'v' },
      pattern: { 'x-a': 'b', y: 'c' },
    },
    ...{
      either: { deep: 'd', also: 'e' },
      both: { one: 'f' },
      referred: 'g',
      tree: { next: { next: { leaf: 'h' } } },
    },
    ...{ lost: 'i', open: { any: 'j' }, undescribed: 'k' },
  }

  assert.deepEqual(redact(value, schema), {
    ...{
      shown: 'a',
      number: '***',
      object: '***',
      list: ['a', '***', 'c'],
      map: { k: '***' },
      pattern: { 'x-a': '***', y: 'c' },
    },
    ...{
      either: { deep: '***', also: 'e' },
      both: { one: '***' },
      referred: '***',
      tree: { next: { next: { leaf: '***' } } },
    },
    ...{ lost: '***', open: { any: '***' }, undescribed: '***' },
  })
})

test('without a schema every text is hidden, and nothing else', () => {
  const value = {
    a: 'x',
    b: [1, true, null, 'y', { c: 'z' }],
    d: new URL('https://u:p@h'),
    e: new Secret('s'),
  }

  assert.deepEqual(redact(value, undefined), {
    a: '***',
    b: [1, true, null, '***', { c: '***' }],
    d: '***',
    e: '***',
  })
})

test('an invalid or circular schema hides values and terminates', () => {
  const circle = {
    $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    properties: { x: { $ref: '#/$defs/a' } },
  }

  assert.deepEqual(redact({ x: { y: 'z' } }, circle), { x: { y: '***' } })
  for (const schema of [null, 'text', [], false]) assert.equal(redact('x', schema), '***')
  assert.deepEqual(redact(JSON.parse('{"__proto__":{"x":"y"}}'), {}), JSON.parse('{"__proto__":{"x":"***"}}'))
})

interface Case {
  readonly schema: unknown
  readonly value: unknown
}

// A value together with a schema that describes it, in which every text is a canary and every canary is marked.
const { marked } = fc.letrec<{ marked: Case }>((tie) => ({
  marked: fc.oneof(
    { maxDepth: 4 },
    fc.constant({ schema: secret, value: 'canary' }),
    fc.integer().map((value) => ({ schema: { type: 'number' }, value })),
    fc.dictionary(fc.string(), tie('marked')).map((fields) => ({
      schema: { properties: mapped(fields, ({ schema }) => schema) },
      value: mapped(fields, ({ value }) => value),
    })),
    fc.array(tie('marked')).map((items) => ({
      schema: { prefixItems: items.map(({ schema }) => schema), items: false },
      value: items.map(({ value }) => value),
    })),
    fc
      .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf'), tie('marked'), fc.boolean())
      .map(([keyword, { schema, value }, first]) => ({
        schema: { [keyword]: first ? [schema, plain] : [{ properties: {} }, schema] },
        value,
      })),
    tie('marked').map(({ schema, value }) => ({
      schema: { additionalProperties: schema },
      value: { any: value },
    })),
    tie('marked').map(({ schema, value }) => ({ schema: { items: schema }, value: [value, value] })),
  ),
}))

test('T10: a marked value is never printed, wherever the schema marks it', () => {
  fc.assert(
    fc.property(marked, ({ schema, value }) => {
      const printed = JSON.stringify(redact(value, { $defs: { all: schema }, $ref: '#/$defs/all' })) ?? ''
      assert.ok(!printed.includes('canary'), printed)
    }),
    { numRuns: runs(1_000) },
  )
})

function mapped<T, U>(fields: Readonly<Record<string, T>>, change: (field: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, change(field)]))
}

test('a printed URL shows neither its query nor a user that may be a key, at any depth', () => {
  const urls = {
    'https://siem.example/in?key=sesame': 'https://siem.example/in?***',
    'https://idp.example/introspect#sesame?': 'https://idp.example/introspect#***',
    'https://sesame@git.example/a': 'https://***@git.example/a',
    'http://user:ses@me@x:1/?a': 'http://***@x:1/?***',
    'redis://:sesame@cache.example/0': 'redis://***@cache.example/0',
    'ssh://git@git.example/a': 'ssh://git@git.example/a',
    'https://idp.example/a@b': 'https://idp.example/a@b',
    'what? a://text': 'what? a://text',
    '/path?query': '/path?query',
  }
  for (const [written, shown] of Object.entries(urls))
    assert.deepEqual(
      redact({ a: written, list: [written] }, { properties: { a: plain, list: { items: plain } } }),
      { a: shown, list: [shown] },
    )
})
