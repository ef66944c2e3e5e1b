import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import type { Entry } from 'sallyport'
import { booted } from 'sallyport/testing'
import { issuing } from '#kit/issuer.js'
import { runs } from '#kit/runs.js'
import { BASE, fileRegistry, server, wrapped } from './registry.js'

const documents = [
  server('a.example/one', '1.0.0', {
    title: 'One',
    unknown: { deep: [1, null, true] },
    websiteUrl: 'https://one.example.com/?a=b#c',
    repository: { url: 'https://git.example.com/one', source: 'other' },
    icons: [{ src: 'https://one.example.com/i.png', mimeType: 'image/png', sizes: ['48x48', 'any'] }],
    packages: [
      {
        registryType: 'npm',
        identifier: '@one/one',
        version: '1.0.0',
        transport: { type: 'stdio' },
        packageArguments: [
          { type: 'positional', valueHint: 'x' },
          { type: 'named', name: '--y', isRequired: true, choices: ['a'] },
        ],
        environmentVariables: [{ name: 'KEY', isSecret: true, format: 'string' }],
      },
    ],
    remotes: [
      { type: 'sse', url: 'https://{t}.example.com/sse', variables: { t: { description: 'tenant' } } },
      { type: 'streamable-http', url: '{base}/mcp', headers: [{ name: 'X', value: 'y' }] },
    ],
    _meta: { 'com.example/x': { y: 1 } },
  }),
  server('a.example/one', '2.0.0'),
  wrapped(
    server('b.example/two', '1.0.0'),
    {
      status: 'deleted',
      statusMessage: 'gone',
      statusChangedAt: '2024-02-01T00:00:00.123456Z',
      publishedAt: '2024-01-01T00:00:00+01:00',
      updatedAt: '2024-02-01T00:00:00Z',
      serverId: 'left out',
    },
    { 'com.example/other': [1] },
  ),
]

interface OpenApi {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly security: readonly object[]
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly responses: Readonly<Record<string, { readonly content?: object }>>
}

/** Checks responses against the served document, with an independent validator. */
async function checked(t: TestContext, list: Parameters<typeof booted>[1]) {
  const app = await booted(t, list)
  const document: OpenApi = (await app.inject('/openapi.json')).json()
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')

  const conforms = async (path: string, url: string, headers: Record<string, string> = {}) => {
    const response = await app.inject({ url, headers })
    const documented = document.paths[path]?.['get']?.responses[String(response.statusCode)]
    assert.ok(documented, `${url}: ${response.statusCode} is not in the document`)
    if (documented.content === undefined) {
      assert.equal(response.body, '')
      return response
    }
    const pointer = ['paths', path, 'get', 'responses', String(response.statusCode)]
      .concat('content', 'application/json', 'schema')
      .map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const validate = ajv.getSchema(`api#/${pointer}`)
    assert.ok(validate)
    assert.ok(validate(response.json()), `${url}: ${ajv.errorsText(validate.errors)}`)
    return response
  }
  return { document, conforms }
}

const LIST = '/registry/{registry}/v0.1/servers'
const VERSIONS = `${LIST}/{serverName}/versions`
const ONE = `${VERSIONS}/{version}`

test('every response matches the OpenAPI document, errors too', async (t) => {
  const { document, conforms } = await checked(t, fileRegistry(t, documents).list)
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(Object.keys(document.paths).toSorted(), ['/openapi.json', LIST, VERSIONS, ONE].toSorted())
  assert.equal((await conforms(LIST, `${BASE}?include_deleted=true`)).json().metadata.count, 3)

  await conforms('/openapi.json', '/openapi.json')
  await conforms(LIST, `${BASE}?limit=1`)
  await conforms(LIST, `${BASE}?limit=0`)
  await conforms(LIST, '/registry/none/v0.1/servers')
  await conforms(VERSIONS, `${BASE}/a.example%2Fone/versions`)
  await conforms(VERSIONS, `${BASE}/a.example%2Fnone/versions`)
  await conforms(ONE, `${BASE}/a.example%2Fone/versions/latest`)
  await conforms(ONE, `${BASE}/b.example%2Ftwo/versions/1.0.0?include_deleted=true`)
  const again = await conforms(LIST, BASE)
  await conforms(LIST, BASE, { 'if-none-match': String(again.headers.etag) })
})

test('a 401 matches the OpenAPI document', async (t) => {
  const issuer = await issuing(t)
  const guarded = fileRegistry(t, documents).list.flatMap(({ use, ...rest }): Entry[] => {
    if (use === 'auth/anonymous')
      return [{ use: 'discovery/issuer' }, { use: 'auth/oidc', with: issuer.provider }]
    return use === 'registry/api' || use === 'registry/openapi' ? [{ use }] : [{ use, ...rest }]
  })
  const { document, conforms } = await checked(t, guarded)
  assert.equal((await conforms(LIST, BASE)).statusCode, 401)
  assert.deepEqual(document.paths[LIST]?.['get']?.security, [{ bearer: [] }])
})

test('any request to a documented route gets a documented response, and never a 500', async (t) => {
  const { document, conforms } = await checked(t, fileRegistry(t, documents).list)
  const randomValue = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.string({ unit: 'binary', maxLength: 10 }),
    fc.constantFrom(
      'latest',
      '1.0.0',
      'a.example/one',
      'default',
      '2024-01-01T00:00:00Z',
      'true',
      '30',
      '..',
      '',
    ),
    fc.integer().map(String),
  )
  const request = fc.constantFrom(...Object.keys(document.paths)).chain((path) => {
    const parameters = document.paths[path]?.['get']?.parameters ?? []
    return fc.tuple(
      fc.constant(path),
      fc.tuple(...parameters.map((each) => fc.tuple(fc.constant(each), fc.option(randomValue)))),
    )
  })
  await fc.assert(
    fc.asyncProperty(request, async ([path, given]) => {
      let url = path
      const query = new URLSearchParams()
      for (const [{ name, in: place }, value] of given) {
        // An empty segment, or one of dots, is another path.
        const segment = /^(?:\.{0,2}|.*[\ud800-\udfff].*)$/su.test(value ?? '') ? 'x' : (value ?? 'x')
        if (place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(segment.toWellFormed()))
        else if (value !== null) query.append(name, value.toWellFormed())
      }
      const response = await conforms(path, `${url}?${query}`)
      assert.ok(response.statusCode < 500)
    }),
    { numRuns: runs(1_000) },
  )
})
