import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Identity, McpSubject } from 'sallyport'
import { parseExpression } from '#plugins/policy/cel/expression.js'
import { type Expressions, judge, shows } from '#plugins/policy/cel/judge.js'

const person: Identity = {
  provider: 'corp',
  subject: 'ann',
  claims: { groups: ['writers'], level: 3 },
  scopes: ['read'],
}

const METHODS = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' } as const

function compiled({ allow, deny }: { readonly allow?: string; readonly deny?: string }): Expressions {
  const parse = (text: string | undefined): Expressions['allow'] => {
    if (text === undefined) return undefined
    const parsed = parseExpression(text)
    assert.ok(typeof parsed === 'function', JSON.stringify(parsed))
    return parsed
  }
  return { allow: parse(allow), deny: parse(deny) }
}

const question = (name: string, identity: Identity | undefined, kind: McpSubject['kind']) => {
  const subject = { kind, name }
  return {
    identity,
    call: { kind: 'request', method: METHODS[kind], subjects: [subject] } as const,
    subject,
    request: undefined as never,
  }
}

const isAllowed = (
  of: Parameters<typeof compiled>[0],
  name: string,
  identity: Identity | undefined = person,
  kind: McpSubject['kind'] = 'tool',
): boolean => judge(compiled(of), question(name, identity, kind)).allowed

test('an expression sees the caller, the call and the name in it', () => {
  assert.ok(
    isAllowed({ allow: '"writers" in identity.claims.groups && glob(subject.name, "write_*")' }, 'write_x'),
  )
  assert.ok(isAllowed({ allow: 'identity.claims.level >= 3 && "read" in identity.scopes' }, 'x'))
  assert.ok(isAllowed({ allow: 'call.method == "tools/call" && call.kind == "request"' }, 'x'))
  assert.ok(isAllowed({ allow: 'identity.provider == "corp" && identity.subject == "ann"' }, 'x'))
  assert.ok(!isAllowed({ allow: 'glob(subject.name, "write_*")' }, 'read'))
  assert.ok(!isAllowed({ allow: 'subject.kind == "prompt"' }, 'x'))
})

test('a deny wins, and without `allow` every other call is allowed', () => {
  assert.ok(!isAllowed({ allow: 'true', deny: 'subject.name == "x"' }, 'x'))
  assert.ok(isAllowed({ deny: 'subject.name == "x"' }, 'y'))
})

test('an expression that fails denies the call, as `allow` and as `deny`', () => {
  for (const claim of ['missing', 'constructor', '__proto__', 'toString']) {
    assert.ok(!isAllowed({ allow: `identity.claims.${claim} == "x"` }, 'x'))
    assert.ok(!isAllowed({ deny: `identity.claims.${claim} == "x"` }, 'x'))
  }
  assert.ok(!isAllowed({ deny: 'identity.claims.level.contains("x")' }, 'x'))
})

test('without a caller, an expression sees empty texts, no scope and no claim', () => {
  const expressions = compiled({
    allow:
      'identity.subject == "" && identity.provider == "" && size(identity.scopes) == 0 && !has(identity.claims.groups)',
  })
  assert.ok(judge(expressions, question('x', undefined, 'tool')).allowed)
})

test('a faulty expression is refused, with the position of the fault', () => {
  for (const [text, expected] of [
    ['subject.name ==', /at character 16/],
    ['nobody.name == "x"', /nobody.*at character 1$/],
    ['identity.nme == "x"', /nme/],
    ['subject.name', /true or false/],
    ['identity.claims.admin', /true or false/],
    ['subject.name == 3', /overload/],
    ['subject.name.matches("a+")', /glob/],
    ['identity.claims.groups.exists(g, dyn(g).matches ("a"))', /glob/],
    ['true && [subject.name].all(y, y.matches("a"))', /glob/],
    ['cel.bind(x, subject.name, x == "a")', /cel\.bind/],
    ['[subject.name].join("a") == "b"', /join/],
    ['subject.name.split("a").exists(x, x == "1")', /split/],
    ['[1].exists(x, [2].exists(y, x == y))', /multiply/],
    ['[1].map(x, x + x).map(x, x + x).exists(x, x == 2)', /multiply/],
    ['true && !["a"].all(x, size(["b"].filter(y, y == x)) == 1)', /multiply/],
    ['', /./],
    [`${'('.repeat(200)}true${')'.repeat(200)}`, /./],
  ] as const) {
    const parsed = parseExpression(text)
    assert.ok('fault' in parsed, text)
    assert.match(parsed.fault, expected)
  }
})

test('the slowest accepted expression delays no other request', () => {
  const list = `[${Array.from({ length: 400 }, (_, index) => `"${index}"`).join()}]`
  const long = Array.from({ length: 100 }, () => 'subject.name').join(' + ')
  for (const deny of [
    `${list}.exists(x, glob(${long}, "*a*b*" + x))`,
    `${list}.exists(x, (${long}).lowerAscii().contains(x + "b"))`,
    `${list}.map(x, ${long}) == ["ab"]`,
  ]) {
    // Processor time, since machines are slow and busy; an expression without bounds would take many seconds.
    const times = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage()
      isAllowed({ deny }, 'a'.repeat(256))
      return process.cpuUsage(before).user / 1000
    })
    assert.ok(Math.min(...times) < 200, `${deny.slice(-60)} ${times}`)
  }
  assert.ok(!isAllowed({ allow: 'true' }, 'a'.repeat(257)))
})

test('a URI is judged in every spelling', () => {
  const docs = { allow: 'subject.name.startsWith("file:///docs/")' }
  assert.ok(isAllowed(docs, 'file:///docs/a%20b', person, 'resource'))
  assert.ok(!isAllowed(docs, 'file:///docs/../secret', person, 'resource'))
  assert.ok(!isAllowed(docs, 'file:///docs/%2e%2e/secret', person, 'resource'))
  assert.ok(
    !isAllowed(
      { deny: 'subject.name.startsWith("file:///secret/")' },
      'file:///%73ecret/a',
      person,
      'resource',
    ),
  )
  assert.ok(!isAllowed({ allow: 'true' }, `x:${'a'.repeat(2_000)}`, person, 'resource'))
})

test('a URI is judged by the path that a server could look up, with empty segments and without', () => {
  const hidden = { deny: 'subject.name.startsWith("file:///secret/")' }
  for (const uri of [
    'file:////secret/a',
    'file:///a/..//secret/a',
    'file://%2f/secret//a',
    'FILE:////secret/a',
  ])
    assert.ok(!isAllowed(hidden, uri, person, 'resource'), uri)
  const api = { deny: 'subject.name == "docs://host/secret/a"' }
  for (const uri of ['docs://host//secret/a', 'docs://HOST/secret//a', 'docs://me@host/./secret/a'])
    assert.ok(!isAllowed(api, uri, person, 'resource'), uri)

  const open = { allow: 'subject.name.startsWith("file:///docs/")' }
  assert.ok(!isAllowed(open, 'file:///docs//../secret', person, 'resource'))
  assert.ok(!isAllowed(open, 'file:///docs/%2f..%2fsecret', person, 'resource'))
  assert.ok(!isAllowed({ allow: 'subject.name.startsWith("docs/")' }, 'docs/../secret', person, 'resource'))
  assert.ok(isAllowed(open, 'file:///docs//a', person, 'resource'))
  const page = { allow: 'subject.name.startsWith("web://a/https://b/")' }
  assert.ok(isAllowed(page, 'web://a/https://b/c', person, 'resource'))
})

test('a URI is judged without its query and its fragment too', () => {
  const deny = { deny: 'subject.name == "file:///secret"' }
  const pages = { allow: 'subject.name.endsWith(".md")' }
  for (const more of ['', '?', '#', '?a=.md', '#.md', '?a#.md', '%3Fa=.md', '%23.md']) {
    assert.ok(!isAllowed(deny, `file:///secret${more}`, person, 'resource'), more)
    assert.ok(!isAllowed(pages, `file:///secret${more}`, person, 'resource'), more)
  }
  assert.ok(isAllowed(deny, 'file:///other?a', person, 'resource'))
  assert.ok(isAllowed(pages, 'file:///a.md', person, 'resource'))
  assert.ok(isAllowed(deny, 'file:///secret?a', person, 'tool'))
})

test('a user, a password or a dot after its host moves no URI out of a deny or into an allow', () => {
  const deny = { deny: 'subject.name.startsWith("https://example.com/secret/")' }
  const users = { allow: 'subject.name.startsWith("https://me@example.com/")' }
  for (const authority of ['me@example.com', 'me:key@example.com', 'example.com.', 'me@example.com.:443']) {
    assert.ok(!isAllowed(deny, `https://${authority}/secret/key`, person, 'resource'), authority)
    assert.ok(isAllowed(deny, `https://${authority}/docs`, person, 'resource'), authority)
  }
  const onHosts = { deny: 'subject.name.startsWith("file:///secret/")' }
  assert.ok(!isAllowed(onHosts, 'file://127.0.0.1/secret/key', person, 'resource'))
  assert.ok(isAllowed(deny, 'https://example.com@other.test/secret/key', person, 'resource'))
  assert.ok(isAllowed(users, 'https://me@example.com/docs', person, 'resource'))
  assert.ok(!isAllowed(users, 'https://example.com/docs', person, 'resource'))
})

test('methods that name nothing pass, and the expression decides on other methods', () => {
  const expressions = compiled({ allow: 'call.method == "custom/run"' })
  const asked = (method: string): boolean =>
    judge(expressions, {
      ...question('x', person, 'tool'),
      call: { kind: 'request', method, subjects: [] },
      subject: undefined,
    }).allowed
  assert.ok(asked('initialize'))
  assert.ok(asked('tools/list'))
  assert.ok(!asked('tools/call'))
  assert.ok(asked('custom/run'))
  assert.ok(!asked('custom/other'))
})

test('lists show exactly the allowed names', () => {
  const texts = [
    'subject.name.startsWith("a")',
    'subject.name.contains("b") && "writers" in identity.claims.groups',
    'identity.claims.missing == 1',
    'subject.kind == "prompt"',
    'call.method == "resources/read" && size(subject.name) > 1',
  ]
  const expression = fc.option(fc.constantFrom(...texts), { nil: undefined })
  fc.assert(
    fc.property(
      expression,
      expression,
      fc.constantFrom<McpSubject['kind'][]>('tool', 'prompt', 'resource'),
      fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', 'b', '/', ':', '%') })),
      fc.constantFrom(person, undefined),
      (allow, deny, kind, name, identity) => {
        const expressions = compiled({ ...(allow && { allow }), ...(deny && { deny }) })
        const asked = question(name, identity, kind)
        assert.equal(
          shows(expressions, identity, asked.subject, asked.request),
          judge(expressions, asked).allowed,
        )
      },
    ),
  )
})

test('any text is an expression or has a fault', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const parsed = parseExpression(text)
      assert.ok(typeof parsed === 'function' || parsed.fault !== '')
    }),
  )
})
