import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { Ingest } from '#plugins/registry/ingest.js'
import { validateServer } from '#plugins/registry/publish/validation/validate-server.js'
import { EMPTY } from '#plugins/registry/source-contents.js'
import { document, publishing } from '../publishing.js'
import { OFFICIAL } from '../registry.js'

const NAME = 'com.example/search'
const MOST_BYTES = 256 * 1024

const full = {
  ...document(),
  title: 'Search',
  websiteUrl: 'https://example.com/',
  repository: { url: 'https://git.example.com/a', source: 'gitlab', id: '7', subfolder: 'src' },
  icons: [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }],
  packages: [
    {
      registryType: 'npm',
      registryBaseUrl: 'https://packages.example.com',
      identifier: '@example/a',
      version: '1.0.0',
      fileSha256: 'a'.repeat(64),
      runtimeHint: 'npx',
      transport: { type: 'streamable-http', url: 'http://localhost:8080/{PORT}', headers: [{ name: 'x' }] },
      runtimeArguments: [{ type: 'positional', value: 'x', valueHint: 'y' }],
      packageArguments: [{ type: 'named', name: '--a', default: 'b', choices: ['b'], format: 'string' }],
      environmentVariables: [{ name: 'PORT', isRequired: true, isSecret: false }],
    },
  ],
  remotes: [
    { type: 'sse', url: 'https://{tenant}.example.com/', variables: { tenant: { description: 'who' } } },
  ],
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { a: 1 } },
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    'https://a:99999',
    'https://',
    'http://%00',
    'https://1.2.3.999',
    'https://[::1',
    'https://a.example/%zz',
    'https://é.example/',
    'data:image/png;base64,',
    'data:image/png,a b',
    '{a}',
    'latest',
    'Latest',
    '1.x',
    '..',
    '',
    ' ',
    '\n',
    'x'.repeat(256),
    null,
    7,
    true,
    [],
    {},
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.webUrl(),
  fc.json().map((text): unknown => JSON.parse(text)),
)

type Path = readonly string[]

/** Every place in a value, and in each object one for another member. */
function placesIn(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [[]]
  const inner = Object.entries(value).flatMap(([key, each]) => placesIn(each).map((path) => [key, ...path]))
  return [[], ...inner, ...(Array.isArray(value) ? [] : [['more']])]
}

function changed(value: unknown, [step, ...steps]: Path, to: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return to
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === step ? changed(each, steps, to) : each))
  return { ...value, [step]: changed(Reflect.get(value, step), steps, to) }
}

test('a valid document is served, whatever was changed in it', async () => {
  assert.deepEqual(validateServer(Buffer.from(JSON.stringify(full))).valid, true)
  const places = fc.constantFrom(...placesIn(full))
  let valid = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(places, odd), { minLength: 1, maxLength: 2 }), async (changes) => {
      const mutated = changes.reduce<unknown>((before, [at, to]) => changed(before, at, to), full)
      const text = JSON.stringify(mutated)
      if (!validateServer(Buffer.from(text)).valid) return
      valid++
      const payloads = [Buffer.from(`{"server":${text},"_meta":{}}`)]
      const before = { contents: EMPTY, refused: [], keepsDates: false, isStored: true }
      const { accepted, refusals } = await new Ingest(MOST_BYTES).run(
        { kind: 'whole', payloads },
        before,
        AbortSignal.timeout(10_000),
      )
      assert.equal(accepted, 1, `${refusals.first?.reason} ${text}`)
    }),
    { numRuns: runs(3_000) },
  )
  assert.ok(valid > runs(100) / 2, `only ${valid} were valid`)
})

test('a URL that the catalogue would refuse is refused wherever it is', () => {
  for (const url of ['https://a:99999', 'https://', 'http://%00', 'https://1.2.3.999']) {
    const [base] = full.packages
    const documents = [
      { ...full, packages: [{ ...base, registryBaseUrl: url }] },
      { ...full, packages: [{ ...base, transport: { type: 'sse', url } }] },
      { ...full, websiteUrl: url },
      { ...full, icons: [{ src: url }] },
      { ...full, repository: { ...full.repository, url } },
      { ...full, remotes: [{ type: 'sse', url }] },
    ]
    for (const each of documents)
      assert.equal(validateServer(Buffer.from(JSON.stringify(each))).valid, false, JSON.stringify(each))
  }
})

/** A document of exactly the most bytes, without white space. */
function largest(): string {
  const withText = (description: string) =>
    JSON.stringify({
      ...full,
      remotes: [{ type: 'sse', url: 'https://a.example', variables: { a: { description } } }],
    })
  return withText('x'.repeat(MOST_BYTES - withText('').length))
}

test('the largest document with the longest message is served with its status', async (t) => {
  const { publish, send, get } = await publishing(t)
  const text = largest()
  assert.equal(Buffer.byteLength(text), MOST_BYTES)
  assert.equal((await publish(text)).statusCode, 200)
  const path = '/servers/com.example%2Fsearch/versions/1.0.0'
  for (const character of ['中', '"', '\\', '😀']) {
    const statusMessage = character.repeat(500 / character.length)
    const response = await send('PATCH', `${path}/status`, { status: 'deprecated', statusMessage })
    assert.equal(response.statusCode, 200, response.body.slice(0, 300))
    assert.equal(response.json()._meta[OFFICIAL].statusMessage, statusMessage)
    assert.equal((await get(NAME, '1.0.0')).body, response.body)
  }
})

test('around a stored document there is room for a message that is escaped throughout', async () => {
  const official = {
    status: 'deleted',
    statusMessage: '\u0001'.repeat(500),
    statusChangedAt: new Date(0).toISOString(),
    publishedAt: new Date(0).toISOString(),
    updatedAt: new Date(0).toISOString(),
  }
  const payloads = [
    Buffer.from(`{"server":${largest()},"_meta":${JSON.stringify({ [OFFICIAL]: official })}}`),
  ]
  const before = { contents: EMPTY, refused: [], keepsDates: false, isStored: true }
  const { accepted } = await new Ingest(MOST_BYTES).run(
    { kind: 'whole', payloads },
    before,
    AbortSignal.timeout(10_000),
  )
  assert.equal(accepted, 1)
})

test('a stored source whose documents are all refused is empty and degraded, and others go on', async () => {
  const before = { contents: EMPTY, refused: [], keepsDates: false }
  const refused = () => ({
    kind: 'whole' as const,
    payloads: [Buffer.from('{"server":{"name":"a/b"},"_meta":{}}')],
  })
  const run = (isStored: boolean) =>
    new Ingest(MOST_BYTES).run(refused(), { ...before, isStored }, AbortSignal.timeout(10_000))

  await assert.rejects(run(false), /all of its 1 documents are refused/)
  const { accepted, refusals, contents } = await run(true)
  assert.deepEqual([accepted, refusals.count, contents], [0, 1, undefined])
})
