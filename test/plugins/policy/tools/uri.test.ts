import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matches } from '#core/toolkit/glob.js'
import { runs } from '#kit/runs.js'
import { allReadingsOf, readingsOf, templateReadingsOf, UriPattern } from '#plugins/policy/tools/uri.js'

function patternOf(text: string): UriPattern {
  const pattern = UriPattern.of(text)
  assert.ok(pattern, text)
  return pattern
}

function allows(pattern: string, uri: string): boolean {
  const judged = readingsOf(uri)
  return judged !== undefined && patternOf(pattern).allows(judged)
}

const holds = (pattern: string, judged: ReturnType<typeof readingsOf>): boolean =>
  judged === undefined ||
  judged.denied.some((form) => patternOf(pattern).denied.some((glob) => matches(glob, form)))

const denies = (pattern: string, uri: string): boolean => holds(pattern, readingsOf(uri))

const deniesTemplate = (pattern: string, template: string): boolean =>
  holds(pattern, templateReadingsOf(template))

const SECRETS = [
  'file:///secret/key',
  'file:///docs/../secret/key',
  'file:///docs/..%2fsecret/key',
  'file:///docs/%2e%2e/secret/key',
  'file:///docs/%252e%252E/secret/key',
  'file:///docs/..\\secret\\key',
  'file:///docs/..%5csecret/key',
  'file:///docs/./../secret/key',
  'file:///docs//..///secret/key',
  'file:///%73ecret/key',
  'file:///%2573ecret/key',
  'file:///%25252573ecret/key',
  'FILE:///secret/key',
  'file://localhost/secret/key',
  'file:/secret/key',
  'file:secret/key',
  'file:////secret//key',
  ' file:///secret/key',
  'file:///secret/key ',
  'file:\\\\\\secret\\key',
  'file:///secret/key?x=/docs/',
  'file:///secret/key#/docs/',
  'file:///docs/../secret/key?/docs/',
  'file:///docs/%2e%2e%2fsecret/key%3f',
  'file:///docs/..%ff/../../secret/key',
]

test('no other spelling of a denied URI passes', () => {
  for (const uri of SECRETS) assert.ok(denies('file:///secret/*', uri), uri)
  for (const uri of SECRETS) assert.ok(denies('FILE:///x/../%73ecret/*', uri), uri)
  assert.ok(denies('https://Example.com/admin/*', 'https://example.COM:443/admin/x'))
  assert.ok(denies('https://example.com', 'https://example.com/'))
  assert.ok(denies('https://example.com/a/', 'https://example.com/a'))
  assert.ok(denies('https://example.com/a', 'https://example.com/a/'))
  assert.ok(denies('https://example.com/a', 'https://example.com/a?b#c'))
  assert.ok(denies('note://Team/a', 'NOTE://team/a'))
  assert.ok(denies('note:secret*', 'note:./secret?/../..'))
  assert.ok(denies('note://secret', 'note://a/../secret'))
  assert.ok(denies('*/secret*', 'note:a/%73ecret'))
  assert.ok(denies('file:///secret/*', 'file:///secret/'))
  assert.ok(denies('*Docs//key', 'file:///Docs/key'))
})

test('a user, a password or a dot before the path of a denied URI names no other host', () => {
  const user = fc.stringMatching(/^[\w.~:!$&'()*+,;=@%-]{0,20}$/)
  const uris = fc.tuple(user, fc.constantFrom('', '.'), fc.constantFrom('', ':', ':443'))
  fc.assert(
    fc.property(uris, ([name, dot, port]) => {
      const uri = `https://${name}@example.com${dot}${port}/secret/key`
      assert.ok(denies('https://example.com/secret/*', uri), uri)
    }),
  )
  for (const uri of ['https://example.com./secret/key', 'https://other.test\\@example.com/secret/key'])
    assert.ok(denies('https://example.com/secret/*', uri), uri)
  assert.ok(
    templateReadingsOf('https://me@example.com/secret/{name}')?.denied.some((text) =>
      text.includes('//example.com/'),
    ),
  )
  assert.ok(!denies('https://example.com/secret/*', 'https://example.com@other.test/secret/key'))
  assert.ok(!denies('https://example.com/secret/*', 'https://example.com/docs/me@example.com./secret/key'))
})

test('no spelling of another URI passes for an allowed one', () => {
  for (const uri of SECRETS) assert.ok(!allows('file:///docs/*', uri), uri)
  assert.ok(!allows('file:///*.md', 'file:///secret.key?.md'))
  assert.ok(!allows('file:///*.md', 'file:///secret.key#.md'))
  assert.ok(!allows('file:///*.md', 'file:///secret.key%23.md'))
  assert.ok(!allows('file:///*.md', 'file:///secret.key%00.md'))
  assert.ok(!allows('https://h/*?public=1', 'https://h/secret#?public=1'))
  assert.ok(!allows('https://h/docs/*', 'https://h/docs/x/../../secret'))
  assert.ok(!allows('docs/*', 'docs/../secret'))
  assert.ok(!allows('file:///my%20docs/*', 'file:///my docs/a'))
  assert.ok(!allows('note://docs/*', 'note://docs/../secret'))
})

test('an allow pattern allows the URI that is written like it', () => {
  for (const [pattern, uri] of [
    ['*', 'file:///a%20b/ä?x#y'],
    ['file:///docs/*', 'file:///docs/a.txt'],
    ['file:///docs/*', 'file:///docs/a%20b/%C3%A9.txt'],
    ['file:///docs/*', 'file:///docs/a//b'],
    ['file:///my docs/*', 'file:///my docs/a'],
    ['file:///my%20docs/*', 'file:///my%20docs/a'],
    ['HTTPS://Example.com/*', 'HTTPS://Example.com/a'],
    ['https://example.com', 'https://example.com'],
    ['https://example.com', 'https://example.com/'],
    ['https://example.com*', 'https://example.com/a'],
    ['https://*.example.com/*', 'https://a.example.com/b'],
    ['http://localhost:*/a', 'http://localhost:8080/a'],
    ['https://h/api?q=*', 'https://h/api?q=a%26b'],
    ['*README.md', 'file:///Docs/README.md'],
    ['READ*', 'README.md'],
    ['note://*', 'note://Team/a'],
    ['*Docs*', 'note://Docs/x'],
    ['urn:a:*', 'urn:a:B'],
    ['file:///a%2Ab', 'file:///a%2Ab'],
    ['file:///a/../b', 'file:///a/../b'],
  ] as const)
    assert.ok(allows(pattern, uri), `${pattern} ${uri}`)
})

test('no pattern allows a URI that cannot be judged', () => {
  for (const uri of [
    'a\nb',
    'a%0ab',
    `x:${'a'.repeat(2_047)}`,
    `file:///${'a'.repeat(2_041)}`,
    'x:\ud800',
    `x:${'%25'.repeat(1)}${'25'.repeat(9)}41`,
  ])
    for (const judged of [readingsOf(uri), templateReadingsOf(uri), UriPattern.of(uri)])
      assert.equal(judged, undefined, uri.slice(0, 40))
  assert.equal(templateReadingsOf(`x:{${'a'.repeat(2_048)}}`), undefined)
})

test('a deny of a file holds for every host in its URI', () => {
  for (const uri of ['file://host/secret/key', 'file://127.0.0.1/secret/key', 'file://user@/secret/key'])
    assert.ok(denies('file:///secret/*', uri), uri)
  for (const uri of [
    'FILE:\\\\host\\secret\\key',
    'file:%2f%2fhost/a/../secret/key',
    'file://h%6fst/secret/key?a#b',
  ])
    assert.ok(denies('file:///secret/*', uri), uri)
  assert.ok(!denies('file:///secret/*', 'https://host/secret/key'))
  assert.ok(!allows('file:///docs/*', 'file://host/docs/a'))
  assert.ok(templateReadingsOf('file://{host}/secret/key')?.denied.includes('file:///secret/key'))
})

test('a deny that names a user, or the host of a file, holds for its URIs and templates', () => {
  for (const [pattern, start] of [
    ['https://me@example.com/secret/*', 'https://me@example.com/secret/'],
    ['file://host/secret/*', 'file://host/secret/'],
  ] as const) {
    assert.ok(denies(pattern, `${start}key`), pattern)
    assert.ok(deniesTemplate(pattern, `${start}{key}`), pattern)
  }
})

test('a deny holds for a template with a further query or slash', () => {
  for (const template of ['https://h/secret?{q}', 'https://h/secret/', 'https://h/secret/?a={b}#{c}'])
    assert.ok(deniesTemplate('https://h/secret', template), template)
})

test('the short way for plain URIs finds the same forms as the general way', () => {
  const segment = fc.stringMatching(/^[\w.~!$&'()*+,;=:@-]{1,8}$/)
  const start = fc.constantFrom(
    'file://',
    'https://a-b.example.com',
    'note://team',
    'http://1.a',
    'a+b.c://x',
  )
  fc.assert(
    fc.property(start, fc.array(segment, { minLength: 1, maxLength: 4 }), (head, segments) => {
      const written = `${head}/${segments.join('/')}`
      assert.deepEqual(readingsOf(written), allReadingsOf(written))
    }),
    { numRuns: runs(3000) },
  )
  fc.assert(
    fc.property(fc.webUrl(), (written) => assert.deepEqual(readingsOf(written), allReadingsOf(written))),
  )
  for (const written of [
    'http://a.1/b',
    'http://1/b',
    'http://a:80/b',
    'file://a/b',
    'http:/a/b',
    'http://xn--a/b',
  ])
    assert.deepEqual(readingsOf(written), allReadingsOf(written), written)
})

test('the time to judge a URI grows with its length, and no faster', () => {
  for (const [start, part, end] of [
    ['file:///', '/', 'x'],
    ['file:///', '{', ''],
    ['file:///', '../', ''],
    ['file:///', '%25252561', ''],
    ['file:///', '%252523%2523%23', '#'],
    ['http://a/', '?#', ''],
    ['http://', 'a.', '1'],
    ['http://', 'a', '!'],
    ['file:///', '%ff', '%'],
  ] as const) {
    const time = (length: number): number => {
      const text = `${start}${part.repeat((length - start.length) / part.length - 1)}${end}`
      const times = Array.from({ length: 15 }, () => {
        const began = performance.now()
        for (let again = 0; again < 2048 / length; again++) {
          readingsOf(text)
          templateReadingsOf(text)
        }
        return performance.now() - began
      })
      return Math.min(...times)
    }
    time(256)
    // The same number of characters: four times as many at once would take four times as long if it were quadratic.
    const [short, long] = [time(512), time(2048)]
    assert.ok(long < 2.5 * short + 0.2, `${start}${part} ${short} ${long}`)
    assert.ok(long < 5, `${start}${part} ${long}`)
  }
})

const part = fc.constantFrom(
  'docs',
  'secret',
  'a',
  '..',
  '.',
  '',
  '%2e%2e',
  '%64ocs',
  '%2573ecret',
  'a b',
  'é',
  '?',
  '#',
  '\\',
)
const uri = fc
  .tuple(
    fc.constantFrom('file:///', 'FILE:/', 'https://Host/', 'note:', 'note://', ''),
    fc.array(part, { maxLength: 5 }),
  )
  .map(([scheme, parts]) => scheme + parts.join('/'))

test('a deny of a URI holds for every spelling of it, and an allow for no denied spelling', () => {
  const respelled: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => (URL.canParse(text) ? new URL(text).href : text),
    (text) => text.replaceAll(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    (text) => text.replaceAll('%', '%25'),
    (text) => text.replaceAll('/', '//'),
    (text) => text.replaceAll('/', '/x/../'),
    (text) => text.replaceAll('/', '\\'),
    (text) => `${text}/`,
    (text) => (/[?#]/.test(text) ? text : `${text}#x`),
    (text) => `${text} `,
  ]
  fc.assert(
    fc.property(uri, fc.constantFrom(...respelled), (written, respell) => {
      // The scheme and the host are no part of what may be encoded.
      const [head = ''] = /^(?:[a-z]+:(?:\/\/\/?)?(?:Host\/)?)?/i.exec(written) ?? []
      const other = head + respell(written.slice(head.length))
      assert.ok(denies(written, other), `${written} ${other}`)
    }),
    { numRuns: runs(3000) },
  )
  fc.assert(
    fc.property(uri, uri, (pattern, other) => {
      const [wide, narrow] = [`${pattern}*`, 'file:///secret*']
      const judged = readingsOf(other)
      if (judged === undefined || UriPattern.of(wide) === undefined) return
      const url = URL.canParse(other) ? new URL(other).pathname : ''
      if (url.startsWith('/secret') && other.startsWith('file')) assert.ok(denies(narrow, other), other)
      if (allows('file:///docs/*', other))
        assert.ok(!denies(narrow, other) && url.startsWith('/docs/'), other)
    }),
    { numRuns: runs(3000) },
  )
})
