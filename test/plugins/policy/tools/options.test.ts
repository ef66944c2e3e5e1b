import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolsOptions } from '#plugins/policy/tools/options.js'

const messagesFor = (rules: unknown): readonly string[] =>
  toolsOptions
    .safeParse({ rules })
    .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []

test('a rule allows or denies, and may name claims and scopes', () => {
  for (const rule of [
    { allow: ['a', 'prompt:*', 'resource:file:///*', 'tool:prompt:x'] },
    { deny: ['*'] },
    { allow: ['a'], when: { groups: ['x'], level: 3 }, scopes: ['tools:delete'] },
    { deny: ['a'], when: { 'realm_access.roles': 'x' } },
  ])
    assert.deepEqual(messagesFor([rule]), [], JSON.stringify(rule))
})

test('an empty rule, and a rule with both allow and deny, are refused', () => {
  for (const rule of [
    {},
    null,
    'allow',
    { allow: undefined },
    { allow: null },
    { allow: [] },
    { allow: '*' },
    { allow: [''] },
    { allow: ['prompt:'] },
    { allow: [undefined] },
    { allow: ['a\nb'] },
    { allow: [`resource:${'a'.repeat(20_000)}`] },
    { deny: undefined },
    { deny: null },
    { deny: [] },
    { allow: ['a'], deny: ['b'] },
    { allow: ['a'], deny: undefined },
    { allow: undefined, deny: ['b'] },
    { when: { groups: 'x' } },
    { allow: ['a'], when: {} },
    { allow: ['a'], when: undefined },
    { allow: ['a'], when: null },
    { allow: ['a'], when: { groups: undefined } },
    { allow: ['a'], scopes: [] },
    { allow: ['a'], scopes: undefined },
    { allow: ['a'], scopes: null },
    { allow: ['a'], scopes: ['a b'] },
    { allow: ['a'], scopes: [''] },
    { deny: ['a'], scopes: ['s'] },
    { deny: ['a'], scopes: undefined },
    { allow: ['a'], only: 'x' },
  ])
    assert.notDeepEqual(messagesFor([rule]), [], JSON.stringify(rule))
  for (const rules of [[], undefined, null, {}, 'x']) assert.notDeepEqual(messagesFor(rules), [])
})

test('a refusal says what to write', () => {
  assert.match(messagesFor([{ allow: null }])[0] ?? '', /^rules\.0\.allow: .*\["search_\*"/)
  assert.match(messagesFor([{ allow: [] }])[0] ?? '', /^rules\.0\.allow: .*\["search_\*"/)
  assert.match(messagesFor([{ allow: undefined }])[0] ?? '', /^rules\.0\.allow: .*leave the key out/)
  assert.match(messagesFor([{}])[0] ?? '', /`allow` and `deny`/)
  assert.match(messagesFor([{ deny: ['a'], scopes: ['s'] }])[0] ?? '', /^rules\.0\.scopes: .*when: \{ scope/)
  assert.match(messagesFor([{ allow: ['a'], when: {} }])[0] ?? '', /^rules\.0\.when: .*groups/)
  assert.match(messagesFor([])[0] ?? '', /^rules: .*allow/)
})
