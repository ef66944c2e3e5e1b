import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Identity, Judgement, ListedSubject, McpCall, McpSubject } from 'sallyport'
import { matchesClaims } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'
import type { Rule } from '#plugins/policy/tools/options.js'
import { Rules } from '#plugins/policy/tools/rules.js'

const METHODS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const

const callOf = (method: string): McpCall => ({ kind: 'request', method, id: 1, subjects: [] })

const person = (claims: Identity['claims'] = {}, scopes: readonly string[] = []): Identity => ({
  provider: 'corp',
  subject: 'ann',
  claims,
  scopes,
})

function judged(
  rules: readonly Rule[],
  name: string,
  identity: Identity | undefined = person(),
  kind: McpSubject['kind'] = 'tool',
): Judgement {
  return new Rules(rules, () => true).judge(identity, callOf(METHODS[kind]), { kind, name })
}

const isAllowed = (...asked: Parameters<typeof judged>): boolean => judged(...asked).allowed

test('with allow rules every other name is denied, with deny rules alone every other name is allowed', () => {
  assert.ok(isAllowed([{ allow: ['a'] }], 'a'))
  assert.ok(!isAllowed([{ allow: ['a'] }], 'b'))
  assert.ok(!isAllowed([{ allow: ['a'] }], 'a', person(), 'prompt'))
  assert.ok(!isAllowed([{ allow: ['a'] }], 'a:b', person(), 'resource'))
  assert.ok(!isAllowed([{ deny: ['a'] }], 'a'))
  assert.ok(isAllowed([{ deny: ['a'] }], 'b'))
  assert.ok(isAllowed([{ deny: ['a'] }], 'a', person(), 'prompt'))
  assert.ok(isAllowed([{ deny: ['a'] }], 'x:a', person(), 'resource'))
})

test('a deny wins over every allow, at any position', () => {
  for (const rules of [
    [{ allow: ['*'] }, { deny: ['debug_*'] }],
    [{ deny: ['debug_*'] }, { allow: ['*', 'debug_x'] }],
  ]) {
    assert.ok(!isAllowed(rules, 'debug_x'))
    assert.ok(isAllowed(rules, 'other'))
  }
})

test('the prefix of a pattern selects tools, prompts or resources', () => {
  const rules = [{ allow: ['prompt:p*', 'resource:note://*', 'tool:prompt:x', 'y'] }]
  assert.ok(isAllowed(rules, 'page', person(), 'prompt'))
  assert.ok(isAllowed(rules, 'note://a', person(), 'resource'))
  assert.ok(isAllowed(rules, 'prompt:x'))
  assert.ok(isAllowed(rules, 'y'))
  assert.ok(!isAllowed(rules, 'prompt:p'))
  assert.ok(!isAllowed(rules, 'tool:prompt:x'))
})

test('a rule about resources holds only for the callers that it names', () => {
  const rules = [
    { allow: ['resource:x:a*'], when: { groups: 'x' } },
    { allow: ['resource:x:b*'], scopes: ['s'] },
    { allow: ['resource:x:c*'] },
    { deny: ['resource:x:cc*'], when: { groups: 'x' } },
    { allow: ['resource:x:*b', 'resource:file:*'], scopes: ['s', 't'] },
    { allow: ['resource:file:///docs/*'], scopes: ['s'] },
  ]
  const ask = (name: string, ...of: Parameters<typeof person>): Judgement =>
    judged(rules, name, person(...of), 'resource')
  const [inside, outside] = [{ groups: 'x' }, { groups: 'y' }]
  assert.ok(ask('x:a', inside).allowed)
  assert.ok(!ask('x:a', outside).allowed)
  assert.ok(ask('x:cc', outside).allowed)
  assert.ok(!ask('x:cc', inside).allowed)
  assert.ok(ask('x:b', outside, ['s']).allowed)
  for (const [name, scopes] of [
    ['x:b', ['s']],
    ['x:ab', ['s', 't']],
    ['x:a', undefined],
    ['file:///docs/../secret', ['s', 't']],
    ['x:b\n', undefined],
  ] as const) {
    const judgement = ask(name, outside)
    assert.ok(!judgement.allowed)
    assert.deepEqual(judgement.scopes, scopes)
  }
})

test('on a public path, without a caller, only rules for all callers hold', () => {
  const rules = [{ allow: ['a'] }, { allow: ['b'], when: { x: 1 } }, { allow: ['c'], scopes: ['c'] }]
  const withoutCaller = (name: string): Judgement =>
    new Rules(rules, () => true).judge(undefined, callOf('tools/call'), { kind: 'tool', name })
  assert.ok(withoutCaller('a').allowed)
  for (const name of ['b', 'c']) {
    const judgement = withoutCaller(name)
    assert.ok(!judgement.allowed && judgement.scopes === undefined)
  }
})

test('the denial for a missing scope names all scopes of the rule that lacks the fewest', () => {
  const rules = [
    { allow: ['delete_*'], scopes: ['tools:delete', 'admin', 'audit'] },
    { allow: ['delete_*'], scopes: ['read', 'tools:delete'] },
    { allow: ['delete_*'], scopes: ['root'], when: { groups: 'root' } },
  ]
  const judgement = judged(rules, 'delete_all', person({}, ['read']))
  assert.ok(!judgement.allowed)
  assert.deepEqual(judgement.scopes, ['read', 'tools:delete'])
  assert.match(judgement.rule ?? '', /^rules\[1\]\.allow\[0\]/)
  assert.ok(isAllowed(rules, 'delete_all', person({}, ['tools:delete', 'read'])))
})

test('no denial names scopes that would not help', () => {
  const scoped = { allow: ['x'], scopes: ['s'] }
  for (const rules of [
    [scoped, { deny: ['x'] }],
    [{ ...scoped, when: { groups: 'a' } }],
    [{ allow: ['y'], scopes: ['s'] }],
  ]) {
    const judgement = judged(rules, 'x')
    assert.ok(!judgement.allowed && judgement.scopes === undefined, JSON.stringify(rules))
  }
  const open = new Rules([scoped], () => false).judge(person(), callOf('tools/call'), {
    kind: 'tool',
    name: 'x',
  })
  assert.ok(!open.allowed && open.scopes === undefined)
})

test('methods that name nothing pass with any rules; calls without the name that their method needs do not', () => {
  for (const rules of [[{ allow: ['x'] }], [{ deny: ['*', 'prompt:*', 'resource:*'] }]]) {
    const asked = (method: string): boolean =>
      new Rules(rules, () => true).judge(person(), callOf(method), undefined).allowed
    for (const method of [
      'initialize',
      'ping',
      'tools/list',
      'notifications/initialized',
      '',
      'subscriptions/listen',
    ])
      assert.ok(asked(method), method)
    for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])
      assert.ok(!asked(method), method)
  }
})

test('a method that MCP does not have follows the default of the rules', () => {
  const asked = (rule: Rule): boolean =>
    new Rules([rule], () => true).judge(person(), callOf('custom/run'), undefined).allowed
  assert.ok(!asked({ allow: ['*'] }))
  assert.ok(asked({ deny: ['*'] }))
})

test('a name is judged with any method', () => {
  const subject = { kind: 'tool', name: 'x' } as const
  assert.ok(!new Rules([{ deny: ['x'] }], () => true).judge(person(), callOf('ping'), subject).allowed)
})

const word = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/'), minLength: 1, maxLength: 4 })
const glob = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/', '*'), minLength: 1, maxLength: 4 })
const kind = fc.constantFrom('tool', 'prompt', 'resource')
const patternOf = fc.tuple(kind, glob).map(([prefix, text]) => `${prefix}:${text}`)
const some = <T>(...of: T[]) => fc.uniqueArray(fc.constantFrom(...of), { minLength: 1 })
const rule: fc.Arbitrary<Rule> = fc
  .record({
    isAllow: fc.boolean(),
    patterns: fc.array(patternOf, { minLength: 1, maxLength: 3 }),
    when: fc.option(fc.record({ groups: some('x', 'y') }), { nil: undefined }),
    scopes: fc.option(some('s', 't'), { nil: undefined }),
  })
  .map(({ isAllow, patterns, when, scopes }) => ({
    ...(isAllow ? { allow: patterns, ...(scopes && { scopes }) } : { deny: patterns }),
    ...(when && { when }),
  }))
const identities = fc.option(
  fc
    .tuple(some('x', 'y', 'z'), fc.subarray(['s', 't']))
    .map(([groups, scopes]) => person({ groups }, scopes)),
  { nil: undefined },
)

const expression = (text: string): RegExp =>
  new RegExp(
    `^${text
      .split('*')
      .map((part) => part.replaceAll(/[^a-z]/g, '\\$&'))
      .join('.*')}$`,
    's',
  )

/** The verdict of a literal reading of the rules on a tool or a prompt. */
function expected(
  rules: readonly Rule[],
  identity: Identity | undefined,
  subject: { readonly kind: string; readonly name: string },
): { readonly allowed: boolean; readonly scopes?: readonly string[] | undefined } {
  const lacks = ({ scopes = [] }: Rule): number =>
    scopes.filter((scope) => identity?.scopes?.includes(scope) !== true).length
  const names = (patterns: readonly string[] = []): boolean =>
    patterns.some((text) => expression(text).test(`${subject.kind}:${subject.name}`))
  const applying = rules.filter(({ when }) => when === undefined || matchesClaims(when, identity))
  if (applying.some(({ deny }) => names(deny))) return { allowed: false }
  if (rules.every(({ allow }) => allow === undefined)) return { allowed: true }
  const [nearest] = applying
    .filter(({ allow }) => names(allow))
    .toSorted((one, other) => lacks(one) - lacks(other))
  if (nearest !== undefined && lacks(nearest) === 0) return { allowed: true }
  return { allowed: false, scopes: identity && nearest?.scopes }
}

test('tools and prompts get the verdict of a literal reading of the rules', () => {
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 5 }),
      identities,
      fc.constantFrom<McpSubject['kind'][]>('tool', 'prompt'),
      word,
      (rules, identity, of, name) => {
        const subject = { kind: of, name }
        const judgement = new Rules(rules, () => true).judge(identity, callOf(METHODS[of]), subject)
        const { allowed, scopes } = expected(rules, identity, subject)
        assert.equal(judgement.allowed, allowed)
        assert.deepEqual(judgement.allowed ? undefined : judgement.scopes, scopes)
      },
    ),
    { numRuns: runs(3000) },
  )
})

test('lists show the names that are allowed, or lack only scopes that would allow them', () => {
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 1, maxLength: 5 }),
      identities,
      fc.constantFrom<McpSubject['kind'][]>('tool', 'prompt', 'resource'),
      word,
      (written, identity, of, name) => {
        const rules = new Rules(written, () => true)
        const subject = { kind: of, name }
        const judgement = rules.judge(identity, callOf(METHODS[of]), subject)
        const isOpen = judgement.allowed || judgement.scopes !== undefined
        assert.equal(rules.shows(identity, subject), isOpen)
        if (judgement.allowed || judgement.scopes === undefined) return
        const scopes = [...(identity?.scopes ?? []), ...judgement.scopes]
        assert.ok(identity)
        assert.ok(rules.judge({ ...identity, scopes }, callOf(METHODS[of]), subject).allowed)
      },
    ),
    { numRuns: runs(3000) },
  )
})

test('a template is listed whenever one of its URIs may be read, and not when all of them are denied', () => {
  const shows = (rules: readonly Rule[], name: string): boolean => {
    const listed: ListedSubject = { kind: 'template', name }
    return new Rules(rules, () => true).shows(person(), listed)
  }
  assert.ok(shows([{ allow: ['resource:file:///docs/*'] }], 'file:///docs/{name}'))
  assert.ok(shows([{ allow: ['resource:file:///docs/*'] }], 'file:///{+path}'))
  assert.ok(shows([{ allow: ['resource:file:///docs/a.txt'] }], 'file:///docs/{name}.txt'))
  assert.ok(!shows([{ allow: ['resource:file:///docs/*'] }], 'file:///other/{name}'))
  assert.ok(!shows([{ allow: ['resource:file:///docs/a.txt'] }], 'file:///docs/{name}.md'))
  assert.ok(!shows([{ allow: ['*'] }], 'file:///docs/{name}'))
  assert.ok(!shows([{ deny: ['resource:file:///docs/*'] }], 'file:///docs/{name}'))
  assert.ok(!shows([{ deny: ['resource:file:///docs/*'] }], 'FILE:///x/../docs/%61{name}'))
  assert.ok(shows([{ deny: ['resource:file:///docs/a*'] }], 'file:///docs/{name}'))

  const literal = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 3 })
  fc.assert(
    fc.property(
      fc.array(
        glob.map((text) => `resource:x:${text}`),
        { minLength: 1, maxLength: 3 },
      ),
      literal,
      literal,
      literal,
      (allow, before, middle, after) => {
        const rules = new Rules([{ allow }], () => true)
        const subject = { kind: 'resource', name: `x:${before}${middle}${after}` } as const
        if (!rules.judge(person(), callOf('resources/read'), subject).allowed) return
        assert.ok(rules.shows(person(), { kind: 'template', name: `x:${before}{v}${after}` }))
      },
    ),
    { numRuns: runs(2000) },
  )
})
