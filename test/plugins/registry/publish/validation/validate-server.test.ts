import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import type { JsonObject } from 'sallyport/toolkit'
import { runs } from '#kit/runs.js'
import { validateServer } from '#plugins/registry/publish/validation/validate-server.js'
import { serverDocument } from '#plugins/registry/server-document.js'
import { good, plain, SCHEMA, served } from './documents.js'

const judged = (document: unknown) => validateServer(Buffer.from(JSON.stringify(document)))

/** `severity path reference` of each issue. */
const toldOf = (document: unknown): readonly string[] =>
  judged(document).issues.map(({ severity, path, reference }) => `${severity} ${path} ${reference}`)

const withPackage = (one: JsonObject): JsonObject => ({
  ...plain,
  packages: [
    { registryType: 'npm', identifier: 'a', version: '1.0.0', transport: { type: 'stdio' }, ...one },
  ],
})
const withRemote = (url: string, more: JsonObject = {}): JsonObject => ({
  ...plain,
  remotes: [{ type: 'sse', url, ...more }],
})

test('documents as the official registry documents them have no issues', () => {
  for (const document of good) {
    const { valid, issues, name, version } = judged(document)
    assert.deepEqual(
      { valid, issues, name, version },
      { valid: true, issues: [], name: document['name'], version: document['version'] },
    )
  }
})

test('documents of the examples are valid; what a source may leave out, a publisher may not', () => {
  for (const document of served) {
    assert.deepEqual(toldOf({ $schema: SCHEMA, ...document }), [], String(document['name']))
  }
  assert.deepEqual(toldOf({ ...plain, $schema: undefined }), ['error schema schema-field-required'])
})

test('an older schema is a warning, and any other an error', () => {
  const { valid, issues } = judged({ ...plain, $schema: SCHEMA.replace('2025-12-11', '2025-07-09') })
  assert.equal(valid, true)
  assert.deepEqual(
    issues.map(({ severity, reference }) => [severity, reference]),
    [['warning', 'schema-version-deprecated']],
  )
  for (const $schema of [SCHEMA.replace('2025-12-11', '2025-01-27'), 'https://example.com/x', `${SCHEMA}#`]) {
    assert.deepEqual(toldOf({ ...plain, $schema }), ['error schema schema-version-not-available'])
  }
})

test('all issues of a document are reported at once, each at its path', () => {
  const document = {
    $schema: SCHEMA,
    name: 'invalid-name',
    description: 'x',
    version: '^1.0.0',
    repository: { url: 'not-a-valid-url', source: 'github' },
    websiteUrl: 'ftp://invalid-scheme.com',
    packages: [
      {
        registryType: 'oci',
        registryBaseUrl: 'https://registry.example.com',
        identifier: 'package with spaces',
        version: 'latest',
        transport: { type: 'stdio', url: 'should-not-have-url' },
        runtimeArguments: [{ type: 'named', name: '--port <port>' }, { type: '' }, { type: 'positional' }],
      },
    ],
    remotes: [{ type: 'stdio', url: '' }],
  }
  const paths = new Set(judged(document).issues.map(({ path }) => path))
  for (const path of [
    'name',
    'version',
    'repository.url',
    'websiteUrl',
    'packages[0].registryBaseUrl',
    'packages[0].identifier',
    'packages[0].version',
    'packages[0].transport.url',
    'packages[0].runtimeArguments[0].name',
    'packages[0].runtimeArguments[1].type',
    'packages[0].runtimeArguments[2]',
    'remotes[0].type',
    'remotes[0].url',
  ]) {
    assert.ok(paths.has(path), path)
  }
})

test('a version is one version', () => {
  const ranges = [
    '^1.2.3',
    '~1.2',
    '>=1.0.0',
    '<2',
    '=1.0.0',
    '1.x',
    '1.2.*',
    'x',
    '1.2.X-beta',
    '1.0 - 2.0',
    '1 || 2',
    ' ^1',
  ]
  for (const version of ranges)
    assert.deepEqual(toldOf({ ...plain, version }), ['error version version-looks-like-range'], version)
  assert.deepEqual(toldOf({ ...plain, version: 'latest' }), ['error version reserved-version-string'])
  assert.deepEqual(toldOf({ ...plain, version: '1.0.0 ' }), ['error version invalid-version'])
  assert.deepEqual(toldOf({ ...plain, version: '' }), ['error version version-empty'])
  assert.deepEqual(toldOf({ ...plain, version: 'spring' }), ['warning version version-not-semantic'])
  assert.deepEqual(toldOf({ ...plain, version: '2.0.0-rc.1+x' }), [])
  assert.deepEqual(toldOf({ ...plain, version: '1:2.0~a_b+c' }), ['warning version version-not-semantic'])
  assert.deepEqual(toldOf({ ...plain, version: 'LATEST' }), ['error version reserved-version-string'])
  const noSegments = [
    '.',
    '..',
    'a/b',
    '%2f',
    '%2e%2e',
    '?a',
    '#a',
    'v/status',
    '\u202e1',
    '1\u200b',
    '中',
    '1 2',
    'a\\b',
  ]
  for (const version of noSegments)
    assert.deepEqual(toldOf({ ...plain, version }), ['error version invalid-version'], version)
  assert.deepEqual(toldOf(withPackage({ version: '^1.0.0' })), [
    'error packages[0].version version-looks-like-range',
  ])
})

test('a name is a namespace, one slash and a name', () => {
  for (const name of [
    'a',
    'a/b',
    'com.example',
    'com.example/a/b',
    '/ab',
    'com.example/',
    'com.example/-a-',
    'com_x/ab',
    'com.example/a b',
  ]) {
    assert.deepEqual(toldOf({ ...plain, name }), ['error name invalid-server-name'], name)
  }
  assert.equal(judged({ ...plain, name: `com.example/${'a'.repeat(200)}` }).valid, false)
  assert.match(judged({ ...plain, name: 'com.example/a' }).issues[0]?.message ?? '', /two .* at least/)
})

test('unknown members are refused wherever they are, except what the publisher provides', () => {
  assert.match(toldOf({ ...plain, status: 'active' }).join(), /^error status #\/.*additionalProperties$/)
  assert.match(toldOf(withPackage({ registry_type: 'npm' })).join(), /^error packages\[0\]\.registry_type /)
  assert.match(
    toldOf(withRemote('https://example.com/', { authentication: 1 })).join(),
    /^error remotes\[0\]\.authentication /,
  )
  assert.match(
    toldOf({ ...plain, _meta: { 'com.example/own': {} } }).join(),
    /^error _meta\.com\.example\/own /,
  )
  assert.match(
    toldOf(JSON.parse(`{"__proto__":1,${JSON.stringify(plain).slice(1)}`)).join(),
    /^error __proto__ /,
  )
})

test('the extension of a publisher has at most 4,096 bytes of compact JSON', () => {
  const key = 'io.modelcontextprotocol.registry/publisher-provided'
  const text = (value: string) =>
    Buffer.from(`${JSON.stringify(plain).slice(0, -1)},"_meta":{"${key}": ${value} }}`)
  const filled = (bytes: number) => `{ "a" : "${'x'.repeat(bytes - 8)}" }`
  assert.equal(validateServer(text(filled(4_096))).valid, true)
  assert.deepEqual(
    validateServer(text(filled(4_097))).issues.map(({ path, reference }) => [path, reference]),
    [[`_meta.${key}`, 'publisher-extension-too-large']],
  )
  // What is served are the digits, not the number.
  assert.equal(validateServer(text(`{"a":1.${'0'.repeat(5_000)}}`)).valid, false)
})

test('remotes inside a company are warnings, and plain http to the public an error', () => {
  for (const url of [
    'http://10.0.0.1/mcp',
    'http://tools/mcp',
    'http://mcp.corp/',
    'http://[fd00::1]/',
    'http://localhost:1/',
    'http://a.svc.cluster.local/',
  ]) {
    assert.deepEqual(toldOf(withRemote(url)), ['warning remotes[0].url url-plain-http'], url)
  }
  for (const url of ['https://10.0.0.1/mcp', 'https://tools.internal/mcp']) {
    assert.deepEqual(toldOf(withRemote(url)), ['warning remotes[0].url url-private-host'], url)
  }
  for (const url of [
    'http://example.com/',
    'http://8.8.8.8/',
    'https://',
    'ftp://a.b/',
    'https://a b/',
    'x',
    '',
  ]) {
    assert.ok(toldOf(withRemote(url)).includes('error remotes[0].url invalid-remote-url'), url)
  }
  assert.deepEqual(toldOf(withRemote('https://me:pass@example.com/')), [
    'error remotes[0].url url-with-credentials',
  ])
})

test('a variable of a URL is declared, and no URL is given twice', () => {
  assert.deepEqual(toldOf(withRemote('https://example.com/{a}')), [
    'error remotes[0].url invalid-templated-url',
  ])
  assert.deepEqual(toldOf(withRemote('https://example.com/{a}', { variables: { a: {} } })), [])
  assert.deepEqual(toldOf(withRemote('https://example.com:{port}/', { variables: { port: {} } })), [])
  const remote = { type: 'sse', url: 'https://example.com/' }
  assert.deepEqual(toldOf({ ...plain, remotes: [remote, remote] }), [
    'error remotes[1].url duplicate-remote-url',
  ])
})

test('a package has what its registry needs', () => {
  const sum = 'a'.repeat(64)
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ version: undefined }, ['error packages[0].version package-version-required']],
    [{ registryType: 'maven' }, ['warning packages[0].registryType unknown-registry-type']],
    [{ registryType: 'oci', identifier: 'a/b:1' }, ['error packages[0].version oci-package-member']],
    [
      { registryType: 'oci', identifier: 'a/b', version: undefined },
      ['error packages[0].identifier oci-tag-or-digest-required'],
    ],
    [
      { registryType: 'oci', identifier: 'a/B:1', version: undefined },
      ['error packages[0].identifier invalid-oci-reference'],
    ],
    [
      { registryType: 'oci', identifier: 'a/b:latest', version: undefined },
      ['warning packages[0].identifier oci-tag-latest'],
    ],
    [
      { registryType: 'mcpb', identifier: 'https://a.example.com/x.mcpb' },
      ['error packages[0].fileSha256 mcpb-file-sha256-required'],
    ],
    [
      { registryType: 'mcpb', identifier: 'x.mcpb', fileSha256: sum },
      ['error packages[0].identifier invalid-mcpb-url'],
    ],
    [
      { packageArguments: [{ type: 'named', name: '--a', value: '--a=1' }] },
      ['error packages[0].packageArguments[0].value argument-value-starts-with-name'],
    ],
    [
      { packageArguments: [{ type: 'named', name: '' }] },
      ['error packages[0].packageArguments[0].name named-argument-name-required'],
    ],
    [
      { transport: { type: 'sse', url: 'http://x/{a}' } },
      ['error packages[0].transport.url invalid-templated-url'],
    ],
  ]
  for (const [one, told] of cases) assert.deepEqual(toldOf(withPackage(one)), told, JSON.stringify(one))
})

test('an icon is https or data, and a title, a path and a page are what they say', () => {
  assert.deepEqual(toldOf({ ...plain, icons: [{ src: 'data:image/png;base64,AAAA' }] }), [])
  assert.deepEqual(toldOf({ ...plain, icons: [{ src: 'http://localhost/a.png' }] }), [
    'error icons[0].src icon-src-invalid-scheme',
  ])
  assert.deepEqual(toldOf({ ...plain, title: '  ' }), ['error title title-whitespace-only'])
  assert.deepEqual(toldOf({ ...plain, websiteUrl: 'http://example.com/' }), [
    'error websiteUrl invalid-website-url',
  ])
  const repository = { url: 'https://github.com/a/b', source: 'github', subfolder: '../x' }
  assert.deepEqual(toldOf({ ...plain, repository }), ['error repository.subfolder invalid-subfolder-path'])
})

test('bytes that are no JSON, or that clients read differently, are refused', () => {
  const text = JSON.stringify(plain)
  const told = (bytes: Uint8Array) => {
    const { isJson, valid, issues } = validateServer(bytes)
    assert.equal(valid, false)
    return [isJson, ...issues.map(({ path, reference }) => `${path} ${reference}`.trim())]
  }
  assert.deepEqual(told(Buffer.from(`\ufeff${text}`)), [false, 'byte-order-mark'])
  assert.deepEqual(told(Buffer.concat([Buffer.from(text), Buffer.from([0xff])])), [false, 'not-utf-8'])
  assert.deepEqual(told(Buffer.from(text.slice(0, -1))), [false, 'json-syntax'])
  assert.match(
    validateServer(Buffer.from('{"a":1,}')).issues[0]?.message ?? '',
    /not valid.* line 1, column 8/,
  )
  assert.deepEqual(told(Buffer.from(`${text.slice(0, -1)},"title":"a","title":"a"}`)), [
    true,
    'title duplicate-member',
  ])
  assert.deepEqual(told(Buffer.from(`${text.slice(0, -1)},"title":"a\\ud800"}`)), [
    true,
    'title unpaired-surrogate',
  ])
  const key = 'io.modelcontextprotocol.registry/publisher-provided'
  const nested = `${text.slice(0, -1)},"_meta":{"${key}":{"a":[{"b":1,"\\u0062":2}]}}}`
  assert.deepEqual(told(Buffer.from(nested)), [true, `_meta.${key}.a[0].b duplicate-member`])
  const deep = `${text.slice(0, -1)},"_meta":{"${key}":{"a":${'['.repeat(70)}${']'.repeat(70)}}}}`
  assert.match(String(told(Buffer.from(deep))[1]), /nested-too-deeply$/)
})

test('a document with a repeated name has no name: no rule matches either of them', () => {
  const { name, version } = validateServer(
    Buffer.from('{"name":"com.example/a","n\\u0061me":"com.other/b","version":"1"}'),
  )
  assert.deepEqual({ name, version }, { name: undefined, version: '1' })
})

const hostile: Readonly<Record<string, string>> = {
  'packages that are empty': `"packages":[${'{},'.repeat(490)}{}]`,
  'more values than anyone needs': `"packages":[${'1,'.repeat(125_000)}1]`,
  'errors before objects': `"packages":[{"runtimeArguments":[{"type":"named","name":"a","choices":[${'1,'.repeat(4_000)}1]}]},${'{},'.repeat(480)}{}]`,
  'unknown members': Array.from({ length: 4_900 }, (_, index) => `"k${index}":1`).join(),
  'one member again and again': Array.from({ length: 4_900 }, () => '"k":1').join(),
  'braces in a URL': `"remotes":[{"type":"sse","url":"https://x/${'{'.repeat(250_000)}"}]`,
  'variables in a URL': `"remotes":[{"type":"sse","url":"https://x/${'{a}'.repeat(80_000)}"}]`,
  'a long host': `"websiteUrl":"https://${'a:'.repeat(120_000)}@"`,
  'a long image': `"packages":[{"registryType":"oci","identifier":"${'a-'.repeat(120_000)}","transport":{"type":"stdio"}}]`,
  'a long version': `"packages":[{"registryType":"npm","identifier":"a","version":"${'1.'.repeat(120_000)}","transport":{"type":"stdio"}}]`,
  'a long size': `"icons":[{"src":"https://x.y","sizes":["${'1'.repeat(250_000)}"]}]`,
  'a long name of a member': `"${'k'.repeat(250_000)}":1`,
  'lists in lists': `"a":${'['.repeat(125_000)}${']'.repeat(125_000)}`,
}

test('a hostile document is validated within 50 ms, with at most 101 issues', () => {
  for (const [what, member] of Object.entries(hostile)) {
    const bytes = Buffer.from(`${JSON.stringify(plain).slice(0, -1)},${member}}`)
    // The fastest of several: others use this machine too.
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      const { valid, issues } = validateServer(bytes)
      assert.equal(valid, false, what)
      assert.ok(issues.length <= 101 && JSON.stringify(issues).length < 100_000, what)
      return performance.now() - start
    })
    assert.ok(Math.min(...times) < 50, `${what}: ${Math.min(...times)} ms`)
  }
})

test('a document with thousands of issues gets the first hundred and their number', () => {
  const { issues } = judged(Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`k${index}`, 1])))
  assert.equal(issues.length, 101)
  assert.equal(issues.at(-1)?.reference, 'too-many-issues')
  assert.match(issues.at(-1)?.message ?? '', /^there are 15\d more/)
})

const published = JSON.parse(readFileSync('plugins/registry/publish/validation/server.schema.json', 'utf8'))
const ajv = new Ajv({ strict: false })
addFormats.default(ajv)
const isPublished = ajv.compile(published)

const json = fc.jsonValue({ maxDepth: 3 })
const odd = fc.oneof(
  json,
  fc.constantFrom('', 'latest', '{a}', '--a', 'http://10.0.0.1/{a}', 'stdio', 'sse', 'oci', '1.x', [], {}),
)

/** Good documents, of which some values are replaced, some members added, and some taken away. */
const mutated = fc
  .tuple(
    fc.constantFrom(...good, ...served),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom('replace', 'remove', 'add'), fc.string(), odd), {
      maxLength: 3,
    }),
  )
  .map(([document, changes]) => {
    const copy: unknown = structuredClone(document)
    for (const [where, how, name, value] of changes) {
      const places = placesIn(copy)
      const place = places[where % places.length]
      if (place === undefined) continue
      const [holder, key] = place
      if (how === 'replace') holder[key] = value
      else if (how === 'remove') delete holder[key]
      else holder[name] = value
    }
    return copy
  })

function placesIn(value: unknown): readonly (readonly [Record<string, unknown>, string])[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((key) => [[holder, key] as const, ...placesIn(holder[key])])
}

test('any document gets a verdict, twice the same; a valid one fits the published schema and is served', () => {
  const seen = { valid: 0, invalid: 0 }
  fc.assert(
    fc.property(mutated, (document) => {
      const text = JSON.stringify(document)
      const first = validateServer(Buffer.from(text))
      assert.deepEqual(validateServer(Buffer.from(text)), first)
      assert.equal(first.valid, !first.issues.some(({ severity }) => severity === 'error'))
      seen[first.valid ? 'valid' : 'invalid']++
      if (!first.valid) return
      const parsed: unknown = JSON.parse(text)
      assert.equal(isPublished(parsed), true, `${text} ${JSON.stringify(isPublished.errors)}`)
      assert.equal(serverDocument.safeParse(parsed).success, true, text)
    }),
    { numRuns: runs(1_000) },
  )
  assert.ok(Math.min(seen.valid, seen.invalid) > runs(50) / 2, JSON.stringify(seen))
})

test('bytes of any kind never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void validateServer(bytes)),
    { numRuns: runs(500) },
  )
  fc.assert(
    fc.property(odd, (value) => void judged(value)),
    { numRuns: runs(500) },
  )
})

test('a URL has at most 32 variables, and the rule checks very many of them quickly', () => {
  const remote = (count: number, index = 0) => ({
    type: 'sse',
    url: `https://a${index}.example/${'{a}'.repeat(count)}`,
    variables: { a: {} },
  })
  assert.deepEqual(toldOf({ ...plain, remotes: [remote(32)] }), [])
  assert.deepEqual(toldOf({ ...plain, remotes: [remote(33)] }), ['error remotes[0].url invalid-remote-url'])
  const remotes = Array.from({ length: 120 }, (_, index) => remote(670, index))
  const bytes = Buffer.from(JSON.stringify({ ...plain, remotes }))
  validateServer(bytes)
  const since = performance.now()
  validateServer(bytes)
  assert.ok(performance.now() - since < 60)
})
