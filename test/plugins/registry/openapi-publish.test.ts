import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { document, publishing } from './publishing.js'

type Json = { readonly [key: string]: Json }

const BASE = '/registry/{registry}/v0.1'
const VERSION = `${BASE}/servers/{serverName}/versions/{version}`

test('every write, its body and its response match the OpenAPI document, refusals too', async (t) => {
  const { app, send, issuer, token } = await publishing(t, { catalogue: { maxDocumentBytes: 5_000 } })
  const described: Json = (await app.inject('/openapi.json')).json()
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(described, 'api')
  const pointer = (steps: readonly string[]) =>
    steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  const stranger = { authorization: `Bearer ${await issuer.jwt({ sub: 'stranger' })}` }
  const anonymous = { authorization: '' }
  const one = '/servers/com.example%2Fsearch/versions/1.0.0'
  const all = '/servers/com.example%2Fsearch/status'

  const cases: readonly [number, string, 'POST' | 'PATCH' | 'DELETE', string, unknown?, object?][] = [
    [200, `${BASE}/publish`, 'POST', '/publish', document()],
    [409, `${BASE}/publish`, 'POST', '/publish', document()],
    [422, `${BASE}/publish`, 'POST', '/publish', { ...document(), title: 7 }],
    [400, `${BASE}/publish`, 'POST', '/publish', '{'],
    [401, `${BASE}/publish`, 'POST', '/publish', document(), anonymous],
    [403, `${BASE}/publish`, 'POST', '/publish', document(), stranger],
    [404, `${BASE}/publish`, 'POST', '/registry/reading/v0.1/publish', document()],
    [413, `${BASE}/publish`, 'POST', '/publish', 'x'.repeat(6_000)],
    [200, `${BASE}/validate`, 'POST', '/validate', document(), anonymous],
    [200, `${BASE}/validate`, 'POST', '/validate', '[]', anonymous],
    [400, `${BASE}/validate`, 'POST', '/validate', '[', anonymous],
    [200, `${VERSION}/status`, 'PATCH', `${one}/status`, { status: 'deprecated', statusMessage: 'old' }],
    [422, `${VERSION}/status`, 'PATCH', `${one}/status`, { status: 'old' }],
    [404, `${VERSION}/status`, 'PATCH', '/servers/a%2Fb/versions/1/status', { status: 'deleted' }],
    [200, `${BASE}/servers/{serverName}/status`, 'PATCH', all, { status: 'active' }],
    [200, VERSION, 'DELETE', one],
    [404, VERSION, 'DELETE', '/servers/a%2Fb/versions/1'],
    [200, `${BASE}/auth/github-oidc`, 'POST', '/auth/github-oidc', { oidc_token: token }, anonymous],
    [200, `${BASE}/auth/oidc`, 'POST', '/auth/oidc', { oidc_token: token }, anonymous],
    [401, `${BASE}/auth/oidc`, 'POST', '/auth/oidc', { oidc_token: 'x' }, anonymous],
    [400, `${BASE}/auth/oidc`, 'POST', '/auth/oidc', {}, anonymous],
  ]
  for (const [status, path, method, url, body, headers = {}] of cases) {
    const response = await send(method, url, body, { ...headers })
    assert.equal(response.statusCode, status, `${method} ${url}: ${response.body}`)
    const operation = ['paths', path, method.toLowerCase()]
    const type = String(response.headers['content-type']).split(';', 1)[0] ?? ''
    const answer = [...operation, 'responses', `${status}`, 'content', type, 'schema']
    const validate = ajv.getSchema(`api#/${pointer(answer)}`)
    assert.ok(validate, `${answer.join(' ')} is not in the document`)
    assert.ok(validate(response.json()), `${method} ${url}: ${ajv.errorsText(validate.errors)}`)
    if (status !== 200 || typeof body !== 'object') continue
    const taken = ajv.getSchema(
      `api#/${pointer([...operation, 'requestBody', 'content', 'application/json', 'schema'])}`,
    )
    assert.ok(taken?.(body), `the body of ${method} ${url}: ${ajv.errorsText(taken?.errors)}`)
  }
})

test('each path is described once, and the description says that v0 is the same', async (t) => {
  const { app } = await publishing(t)
  const { paths, info, components } = (await app.inject('/openapi.json')).json()
  const security = (path: string, method: string) => paths[path][method].security

  assert.ok(Object.keys(paths).every((path) => !path.includes('/v0/') && !path.includes(':')))
  assert.match(info.description, /\/v0`/)
  assert.deepEqual(Object.keys(paths[VERSION]), ['delete', 'get', 'head'])
  assert.deepEqual(security(`${BASE}/publish`, 'post'), [{ bearer: [] }])
  assert.deepEqual(security(VERSION, 'delete'), [{ bearer: [] }])
  assert.deepEqual(security(`${BASE}/validate`, 'post'), [])
  assert.deepEqual(security(`${BASE}/auth/oidc`, 'post'), [])
  const ids = Object.values<Record<string, { operationId: string }>>(paths)
    .flatMap((each) => Object.values(each))
    .map(({ operationId }) => operationId)
  assert.equal(new Set(ids).size, ids.length)
  assert.deepEqual(Object.keys(components.schemas).toSorted().slice(0, 3), [
    'ChangedVersions',
    'Error',
    'Issue',
  ])
})
