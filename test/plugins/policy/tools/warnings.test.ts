import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import type { Rule } from '#plugins/policy/tools/options.js'
import { Rules } from '#plugins/policy/tools/rules.js'
import { warningsOf } from '#plugins/policy/tools/warnings.js'

const placesOf = (rules: readonly Rule[]): readonly string[] => warningsOf(rules).map(({ place }) => place)

test('rules that all matter raise no warning', () => {
  assert.deepEqual(
    placesOf([
      { allow: ['search_*', 'prompt:*', 'resource:file:///docs/*', 'tool:prompt:x', 'a:b', 'my_tools:x'] },
      { allow: ['search_*', '*'], when: { groups: 'x' } },
      { allow: ['delete_*'], scopes: ['s'] },
      { deny: ['search_x', 'delete_*'], when: { groups: 'y' } },
    ]),
    ['rules[1].allow[0]'],
  )
})

test('an allow of names that are denied to all callers raises a warning', () => {
  assert.deepEqual(placesOf([{ allow: ['debug_*', 'a'] }, { deny: ['debug*'] }]), ['rules[0].allow[0]'])
  assert.deepEqual(placesOf([{ allow: ['debug_*'] }, { deny: ['debug*'], when: { a: 1 } }]), [])
  assert.deepEqual(placesOf([{ allow: ['debug_*'] }, { deny: ['prompt:debug*'] }]), [])
  assert.deepEqual(placesOf([{ allow: ['debug*'] }, { deny: ['debug_*'] }]), [])
})

test('of two rules that do the same, the second raises a warning', () => {
  assert.deepEqual(placesOf([{ allow: ['a'] }, { allow: ['a'] }]), ['rules[1].allow[0]'])
  assert.deepEqual(placesOf([{ allow: ['a'], when: { x: 1 } }, { allow: ['a'] }]), ['rules[0].allow[0]'])
  assert.deepEqual(
    placesOf([
      { allow: ['a'], when: { x: 1 } },
      { allow: ['a'], when: { x: 2 } },
    ]),
    [],
  )
  assert.deepEqual(placesOf([{ deny: ['resource:a', 'resource:a'] }]), ['rules[0].deny[1]'])
})

test('a rule that another one makes needless raises a warning, in any order', () => {
  const [x, s] = [{ when: { x: 1 } }, { scopes: ['s'] }]
  for (const [rules, ...places] of [
    [[{ allow: ['a', '*'] }], 'rules[0].allow[0]'],
    [[{ allow: ['*', 'a'] }], 'rules[0].allow[1]'],
    [
      [
        { allow: ['a'], ...x },
        { allow: ['a'], ...x },
      ],
      'rules[1].allow[0]',
    ],
    [
      [
        { allow: ['a'], ...s },
        { allow: ['a'], ...s },
      ],
      'rules[1].allow[0]',
    ],
    [[{ allow: ['a'], ...s }, { allow: ['a'] }], 'rules[0].allow[0]'],
    [[{ deny: ['resource:x:*', 'resource:x:a*'] }], 'rules[0].deny[1]'],
  ] as const)
    assert.deepEqual(placesOf(rules), places, JSON.stringify(rules))
})

test('among allowed resources only a repeated pattern is needless: a wider one may allow less', () => {
  assert.deepEqual(placesOf([{ allow: ['resource:x:*', 'resource:x:a*', 'prompt:x:*', 'resource:y'] }]), [])
  assert.deepEqual(placesOf([{ allow: ['resource:x:*', 'resource:x:*'] }]), ['rules[0].allow[1]'])
})

test('an unknown prefix and a URI without a prefix raise warnings', () => {
  for (const pattern of ['prompts:x', 'Resource:x', 'tools:x', 'file:///docs/*'])
    assert.deepEqual(placesOf([{ allow: [pattern] }]), ['rules[0].allow[0]'], pattern)
})

test('removing a pattern with a warning changes no verdict on tools and prompts', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), minLength: 1, maxLength: 3 })
  const rule = fc
    .record({
      isAllow: fc.boolean(),
      patterns: fc.array(pattern, { minLength: 1, maxLength: 2 }),
      when: fc.option(fc.record({ x: fc.constantFrom(1, 2) }), { nil: undefined }),
    })
    .map(
      ({ isAllow, patterns, when }): Rule => ({
        [isAllow ? 'allow' : 'deny']: patterns,
        ...(when && { when }),
      }),
    )
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 4 }),
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 }),
      fc.constantFrom(1, 2, 3),
      (rules, name, x) => {
        const [warning] = warningsOf(rules)
        const [, index, key, position] =
          /^rules\[(\d)\]\.(allow|deny)\[(\d)\]$/.exec(warning?.place ?? '') ?? []
        if (warning === undefined || (key !== 'allow' && key !== 'deny')) return
        const rest = rules.map((each, at) =>
          at === Number(index)
            ? { ...each, [key]: (each[key] ?? []).filter((_, own) => own !== Number(position)) }
            : each,
        )
        const allowed = (of: readonly Rule[]): boolean =>
          new Rules(of, () => true).judge(
            { provider: 'p', subject: 's', claims: { x } },
            { kind: 'request', method: 'tools/call', subjects: [] },
            { kind: 'tool', name },
          ).allowed
        assert.equal(allowed(rest), allowed(rules))
      },
    ),
    { numRuns: runs(3000) },
  )
})
