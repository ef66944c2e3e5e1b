import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { runs } from '#kit/runs.js'
import {
  BASE,
  fileRegistry,
  idsIn,
  internalRoutes,
  type ListBody,
  registryOf,
  server,
  wrapped,
} from './registry.js'

/** JSON numbers whose text JSON.parse would change. */
const numberText = fc.oneof(
  fc.constantFrom(
    '1.0',
    '12345678901234567890',
    '-0',
    '1e2',
    '1E+400',
    '0.1000',
    '-0.0e-7',
    '3.14159265358979323846',
  ),
  fc.tuple(fc.bigInt(), fc.nat(), fc.nat({ max: 30 })).map(([a, b, c]) => `${a}.${b}e${c}`),
)

/** JSON as text, with numbers of any form, white space anywhere and unnecessary escapes. */
const { value: jsonText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    numberText,
    fc.constantFrom('true', 'false', 'null', '"\\u0041\\/\\ud83d\\ude00"', '"[{,:\\"\\\\]"', '{ }', '[\n]'),
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[ ${items.join(' ,\t')} ]`),
    fc
      .uniqueArray(fc.tuple(fc.string({ unit: 'grapheme' }), tie('value')), {
        maxLength: 4,
        selector: ([key]) => key,
      })
      .map(
        (members) => `{${members.map(([key, value]) => `${JSON.stringify(key)} :${value}`).join('\n,')} }`,
      ),
  ),
}))

const documentText = fc
  .tuple(fc.array(jsonText, { maxLength: 3 }), jsonText, fc.boolean())
  .map(([values, meta, first]) => ({
    more: values.map((value, index) => `"x-${index}" : ${value}`),
    meta: `"_meta":{"com.example/m":${meta}}`,
    first,
  }))

/** The text without the white space between its tokens. */
const compacted = (text: string): string =>
  text.replaceAll(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/gs, (_, string: string | undefined) => string ?? '')

test('a thousand generated documents are served as they came, their values byte for byte', async (t) => {
  const made = fc.sample(documentText, { numRuns: runs(1_000), seed: 4 })
  const texts = made.map(({ more, meta, first }, index) => {
    const own = `"name": "a.example/s${String(index).padStart(4, '0')}", "description": "d", "version": "1.0.0"`
    const members = [...(first ? [meta, own] : [own, meta]), ...more]
    return `{\n${members.join(' ,\n')}\n}`
  })
  const wrapping = texts.map((text, index) =>
    index % 2 === 0 ? text : `{"x":1, "server" :${text},"_meta":{"com.example/w": [1.0 ,2 ] }}`,
  )
  const { list } = fileRegistry(t, `[${wrapping.join(',\r\n')}]`)
  const app = await booted(t, [...list, internalRoutes])
  await app.inject({ method: 'POST', url: '/internal/sync/main' })
  const served: string[] = []
  for (let cursor = ''; served.length < texts.length; ) {
    const { body } = await app.inject(`${BASE}?limit=100&cursor=${cursor}`)
    served.push(...entriesIn(body))
    cursor = JSON.parse(body).metadata.nextCursor ?? ''
    if (cursor === '') break
  }
  assert.equal(served.length, texts.length)
  for (const [index, text] of texts.entries()) {
    const entry = served[index] ?? ''
    assert.ok(entry.startsWith(`{"server":${compacted(text)},"_meta":{`), `document ${index}`)
    if (index % 2 === 1)
      assert.ok(entry.includes(',"_meta":{"com.example/w":[1.0,2],"io.model'), `wrapper ${index}`)
    assert.deepEqual(JSON.parse(entry).server, JSON.parse(text))
  }
})

/** The entries of a page as texts, found by counting brackets outside of strings. */
function entriesIn(body: string): string[] {
  const entries: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: token, index } of body.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/gs)) {
    if (token === '{' || token === '[') {
      if (depth === 2 && token === '{') start = index
      depth++
    } else if (token === '}' || token === ']') {
      depth--
      if (depth === 2 && token === '}') entries.push(body.slice(start, index + 1))
    }
  }
  return entries
}

test('every format of a source is read: a document, lists, the wrapped format, the old one, a byte order mark', async (t) => {
  const a = server('a.example/a', '1.0.0')
  const forms = [
    a,
    [a],
    [wrapped(a, {})],
    { servers: [a] },
    { metadata: { count: 1 }, servers: [wrapped(a, { status: 'active' })] },
    { $schema: 'x', data: { groups: {}, servers: [a] } },
  ]
  for (const form of [...forms.map((each) => JSON.stringify(each)), `\ufeff \n${JSON.stringify([a])}\n`]) {
    const app = await booted(t, fileRegistry(t, form).list)
    assert.equal((await app.inject(`${BASE}/a.example%2Fa/versions/1.0.0`)).statusCode, 200, form)
  }
})

test('numbers in YAML keep their text, and other values their meaning', async (t) => {
  const path = join(folder(t), 'servers.yaml')
  writeFileSync(
    path,
    `# ours
- &base
  name: a.example/a
  version: "1.0"
  description: from YAML
  x: { one: 1.0, big: 12345678901234567890, hex: 0x10, no: no, 5: five, when: 2024-01-01 }
- { <<: *base, name: a.example/b }
`,
  )
  const app = await booted(t, registryOf([{ use: 'source/file', with: { name: 'y', path } }], ['y']))
  const { body } = await app.inject(BASE)
  const x = '"x":{"5":"five","one":1.0,"big":12345678901234567890,"hex":16,"no":"no","when":"2024-01-01"}'
  assert.equal(body.split(x).length, 3, body)
})

test('T16 a YAML file of very many keys is read quickly, and one that repeats a key is refused', {
  timeout: 20_000,
}, async (t) => {
  const path = join(folder(t), 'servers.yaml')
  const many = Array.from({ length: 40_000 }, (_, index) => `  k${index}: 1\n`).join('')
  const named = (name: string): string => `- name: a.example/${name}\n  version: "1.0"\n  description: d\n`
  const list = [...registryOf([{ use: 'source/file', with: { name: 'y', path } }], ['y']), internalRoutes]

  writeFileSync(path, `- unlike: server\n${many}${named('a')}`)
  const app = await booted(t, list)
  const body = await eventually<ListBody>(async () => {
    const answer = await app.inject(BASE)
    return answer.statusCode === 200 ? answer.json() : undefined
  })
  assert.deepEqual(idsIn(body), ['a.example/a@1.0'])

  writeFileSync(path, `${named('a')}  version: "1.1"\n`)
  const again = await booted(t, list)
  // Reading YAML may take longer than a start waits for a first sync.
  const reason = await eventually(async () => {
    const { checks } = (await again.inject('/internal/readiness')).json()
    return checks['source y'].reason !== 'not read yet' && checks['source y'].reason
  })
  assert.match(reason, /repeated at line 4, column 3/)
})

test('a document that violates the schema is refused by name and reason, and the others are served', async (t) => {
  const good = server('a.example/good', '1.0.0')
  const wrong: [unknown, RegExp][] = [
    [server('noslash', '1.0.0'), /^noslash@1\.0\.0: name: /],
    [server('a.example/range', '^1.0.0'), /^a\.example\/range@\^1\.0\.0: version: /],
    [server('a.example/range', '1.x'), /version: /],
    [server('a.example/latest', 'latest'), /version: /],
    [server('a.example/long', '1.0.0', { description: 'x'.repeat(101) }), /description: /],
    [server('a.example/p', '1.0.0', { packages: [{ registryType: 'npm' }] }), /packages\.0\./],
    [server('a.example/u', '1.0.0', { websiteUrl: 'not a url' }), /websiteUrl: /],
    [wrapped(server('a.example/s', '1.0.0'), { status: 'odd' }), /^a\.example\/s@1\.0\.0: .*status/],
    [server('a.example/big', '1.0.0', { x: 'x'.repeat(300_000) }), /^document 2: larger/],
    [
      { name: 'a.example/m', version: '1.0.0' },
      /description: missing, a string is expected, in \S+servers\.json$/,
    ],
    [{ mcpServers: { a: { command: 'npx' } } }, /^document 2: this is the configuration of a client/],
    ['text', /^document 2: /],
    [null, /^document 2: /],
    [good, /^a\.example\/good@1\.0\.0: given twice/],
  ]
  for (const [document, reason] of wrong) {
    const app = await booted(t, [...fileRegistry(t, [good, document]).list, internalRoutes])
    assert.equal((await app.inject(BASE)).json().metadata.count, 1)
    const { status, checks } = (await app.inject('/internal/readiness')).json()
    assert.equal(status, 'ready')
    assert.equal(checks['source main'].status, 'degraded')
    assert.match(checks['source main'].reason.replace('1 document was refused; ', ''), reason)
  }
})

test('T16 a document that is nested too deeply, or has too many values, is refused, and the others are served', async (t) => {
  const good = server('a.example/good', '1.0.0', { x: '['.repeat(500) })
  const deep = `${JSON.stringify(server('a.example/deep', '1.0.0')).slice(0, -1)},"x":${'['.repeat(101)}${']'.repeat(101)}}`
  const long = server('a.example/long', '1.0.0', { x: Array(10_001).fill(1) })
  const wrong: [string, RegExp][] = [
    [deep, /^document 2: nested more than 100 levels deep/],
    [JSON.stringify(long), /^document 2: more than 10000 values/],
  ]
  for (const [document, reason] of wrong) {
    const { list } = fileRegistry(t, `[${JSON.stringify(good)},${document}]`)
    const app = await booted(t, [...list, internalRoutes])
    // The parsing thread may take longer than a start waits for a first sync.
    await eventually(async () => (await app.inject(BASE)).statusCode === 200)
    assert.deepEqual(idsIn((await app.inject(BASE)).json()), ['a.example/good@1.0.0'])
    const { checks } = (await app.inject('/internal/readiness')).json()
    assert.match(checks['source main'].reason.replace('1 document was refused; ', ''), reason)
  }
})

test('T16 a source with very many invalid documents fails as a whole', async (t) => {
  const { list } = fileRegistry(
    t,
    `[${'0,'.repeat(20_000)}${JSON.stringify(server('a.example/a', '1.0.0'))}]`,
  )
  const app = await booted(t, [...list, internalRoutes])
  const answer = await app.inject({ method: 'POST', url: '/internal/sync/main' })
  assert.match(answer.json().error_description, /more than 10000 of its documents are refused; document 1: /)
})
