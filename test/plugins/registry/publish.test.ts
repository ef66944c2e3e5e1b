import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, type Entry } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { document, EVERYTHING, publishing, publishingList, ROOT, SCHEMA } from './publishing.js'
import { fileRegistry, type ListBody, OFFICIAL, server } from './registry.js'

const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided'
const NAME = 'com.example/search'

type Served = ListBody['servers'][number]

test('a publication is served at once, as its response shows it, below v0 too', async (t) => {
  const { publish, get, send } = await publishing(t)
  const response = await publish(
    `{ "$schema": "${SCHEMA}", "name": "${NAME}", "version": "1.0.0", "description": "\\u0041", "_meta": {"${PROVIDED}":{"a":1.0,"b":12345678901234567890}} }`,
  )

  assert.equal(response.statusCode, 200, response.body)
  assert.equal(response.headers['cache-control'], 'no-store')
  assert.ok(response.body.includes('"description":"\\u0041"'), response.body)
  assert.ok(response.body.includes('{"a":1.0,"b":12345678901234567890}'), response.body)
  const official = response.json()._meta[OFFICIAL]
  assert.equal(official.status, 'active')
  assert.equal(official.isLatest, true)
  const read = await get(NAME, '1.0.0')
  assert.equal(read.body, response.body)
  const other = await send('GET', '/registry/default/v0/servers/com.example%2Fsearch/versions/1.0.0')
  assert.equal(other.body, response.body)
  assert.equal(other.headers.etag, read.headers.etag)

  const older = await send('POST', '/registry/default/v0/publish', document('0.9.0'))
  assert.equal(older.statusCode, 200, older.body)
  assert.equal(older.json()._meta[OFFICIAL].isLatest, false)
})

test('a write changes the ETag of the list', async (t) => {
  const { publish, send } = await publishing(t)
  await publish(document('1.0.0'))
  const before = await send('GET', '/servers')
  const same = await send('GET', '/servers', undefined, { 'if-none-match': String(before.headers.etag) })
  await publish(document('2.0.0'))
  const after = await send('GET', '/servers', undefined, { 'if-none-match': String(before.headers.etag) })

  assert.equal(same.statusCode, 304)
  assert.equal(after.statusCode, 200)
  assert.equal(after.json().metadata.count, 2)
})

test('a request is checked in order: token, registry, size, rights, document, version', async (t) => {
  const { publish, send, issuer } = await publishing(t, {
    publishers: [{ when: { sub: 'somebody' }, names: ['com.example/*'], may: ['publish'] }],
    catalogue: { maxDocumentBytes: 2_000 },
  })
  const large = 'x'.repeat(3_000)
  const stranger = { authorization: `Bearer ${await issuer.jwt({ sub: 'stranger' })}` }
  const other = { ...document(), name: 'org.example/search' }

  assert.equal((await publish(large, { authorization: '' })).statusCode, 401)
  assert.equal((await publish(large, { authorization: 'Bearer x' })).statusCode, 401)
  assert.equal((await send('POST', '/registry/none/v0.1/publish', large)).statusCode, 404)
  assert.equal((await publish(large, stranger)).statusCode, 413)
  assert.equal((await publish('nonsense', stranger)).statusCode, 403)
  assert.equal((await publish({ ...other, version: 1 })).statusCode, 403)
  assert.equal((await publish('nonsense')).statusCode, 400)
  assert.equal((await publish({ ...document(), version: 1 })).statusCode, 422)
  assert.equal((await publish(document())).statusCode, 200)
  assert.equal((await publish({ ...document(), title: 7 })).statusCode, 422)
  const again = await publish(document())
  assert.equal(again.statusCode, 409)
  assert.equal(again.json().error, 'version_exists')
})

test('an invalid document is a problem with all its issues, the same as validate returns', async (t) => {
  const { publish, send } = await publishing(t)
  const wrong = { ...document(), version: 'latest', title: 7, websiteUrl: 'no' }
  const response = await publish(wrong)

  assert.equal(response.statusCode, 422)
  assert.equal(response.headers['content-type'], 'application/problem+json')
  const { title, status, detail, issues } = response.json()
  assert.ok(title.length > 0 && detail.length > 0)
  assert.equal(status, 422)
  assert.ok(issues.length >= 3, response.body)
  const validated = await send('POST', '/validate', wrong, { authorization: '' })
  assert.deepEqual(validated.json(), { valid: false, issues })
})

test('validate needs no token, and takes any JSON', async (t) => {
  const { send } = await publishing(t, { catalogue: { maxDocumentBytes: 2_000 } })
  const validate = (body: unknown) => send('POST', '/validate', body, { authorization: '' })

  assert.deepEqual((await validate(document())).json(), { valid: true, issues: [] })
  for (const body of ['{}', 'null', '[1]', '"x"', '{"name":"a","name":"b"}', '[[[[[1]]]]]']) {
    const response = await validate(body)
    assert.equal(response.statusCode, 200, body)
    assert.equal(response.json().valid, false, body)
  }
  for (const body of ['', '{', '{}{}', 'x', Buffer.from([0x22, 0xff, 0x22])])
    assert.equal((await validate(body)).statusCode, 400, String(body))
  assert.equal((await validate(`"${'x'.repeat(2_000)}"`)).statusCode, 413)
  const form = { authorization: '', 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal((await send('POST', '/validate', document(), form)).statusCode, 200)
})

test('a refused publisher sees the names it may publish, and none of other publishers', async (t) => {
  const publishers = [
    { when: { sub: 'somebody' }, names: ['com.example/*', 'org.example/one'], may: ['publish'] },
    { when: { sub: 'other' }, names: ['net.secret/*'], may: ['publish', 'edit'] },
  ]
  const { publish, send, issuer } = await publishing(t, { publishers })
  const refused = await publish({ ...document(), name: 'net.secret/x' })
  const stranger = { authorization: `Bearer ${await issuer.jwt({ sub: 'stranger' })}` }

  assert.equal(refused.statusCode, 403)
  assert.match(refused.json().error_description, /com\.example\/\*, org\.example\/one/)
  assert.ok(!refused.body.includes('secret'))
  const nothing = await publish(document(), stranger)
  assert.equal(nothing.statusCode, 403)
  assert.ok(!nothing.body.includes('example'))
  for (const name of ['com.Example/search', 'com.example.evil/search', 'org.example/one2', 'com.example'])
    assert.equal((await publish({ ...document(), name })).statusCode, 403, name)
  assert.equal((await publish({ ...document(), name: 'org.example/one' })).statusCode, 200)
  assert.equal((await send('DELETE', '/servers/org.example%2Fone/versions/1.0.0')).statusCode, 403)
})

test('edit changes a status and deletes, and does not publish', async (t) => {
  const publishers = [
    { when: { sub: 'somebody' }, names: ['*'], may: ['publish'] },
    { when: { sub: 'editor' }, names: [NAME], may: ['edit'] },
  ]
  const { publish, send, get, issuer } = await publishing(t, { publishers })
  await publish(document())
  const editor = { authorization: `Bearer ${await issuer.jwt({ sub: 'editor' })}` }
  const path = '/servers/com.example%2Fsearch/versions/1.0.0'
  const deprecated = { status: 'deprecated', statusMessage: 'use 2.0.0' }

  assert.equal((await publish(document('2.0.0'), editor)).statusCode, 403)
  assert.equal((await send('PATCH', `${path}/status`, deprecated)).statusCode, 403)
  const changed = await send('PATCH', `${path}/status`, deprecated, editor)
  assert.equal(changed.statusCode, 200, changed.body)
  assert.equal(changed.body, (await get(NAME, '1.0.0')).body)
  assert.equal(changed.json()._meta[OFFICIAL].statusMessage, 'use 2.0.0')

  const deleted = await send('DELETE', path, undefined, editor)
  assert.equal(deleted.statusCode, 200)
  assert.equal(deleted.json()._meta[OFFICIAL].status, 'deleted')
  assert.equal((await get(NAME, '1.0.0')).statusCode, 404)
  assert.equal((await get(NAME, '1.0.0', '?include_deleted=true')).statusCode, 200)
  assert.equal((await publish(document())).statusCode, 409)
  assert.equal((await send('DELETE', path, undefined, editor)).statusCode, 200)

  const restored = await send('PATCH', `${path}/status`, { status: 'active' }, editor)
  assert.equal(restored.json()._meta[OFFICIAL].status, 'active')
  assert.equal(restored.json()._meta[OFFICIAL].statusMessage, undefined)
  assert.equal((await get(NAME, '1.0.0')).statusCode, 200)
})

test('the status of all versions changes at once, and versions that already have it are not counted', async (t) => {
  const { publish, send } = await publishing(t)
  for (const version of ['1.0.0', '1.1.0', '2.0.0']) await publish(document(version))
  await send('DELETE', '/servers/com.example%2Fsearch/versions/1.0.0')
  const deprecate = () => send('PATCH', '/servers/com.example%2Fsearch/status', { status: 'deprecated' })
  const response = await deprecate()

  assert.equal(response.statusCode, 200, response.body)
  const { updatedCount, servers } = response.json()
  assert.equal(updatedCount, 3)
  assert.ok(servers.every(({ _meta }: Served) => _meta[OFFICIAL]?.['status'] === 'deprecated'))
  assert.deepEqual((await send('GET', '/servers/com.example%2Fsearch/versions')).json().servers, servers)
  assert.deepEqual((await deprecate()).json(), { updatedCount: 0, servers: [] })
})

test('an unknown status is a problem, an unknown version is not found', async (t) => {
  const { publish, send } = await publishing(t)
  await publish(document())
  const path = '/servers/com.example%2Fsearch/versions/1.0.0/status'
  const wrong = [
    {},
    [],
    { status: 'gone' },
    { status: 'deleted', more: 1 },
    { status: 'deleted', statusMessage: 7 },
    { status: 'deleted', statusMessage: 'x'.repeat(501) },
    { status: 'active', statusMessage: 'why' },
    { status: 'deleted', statusMessage: 'a\u0001b' },
    { status: 'deleted', statusMessage: 'a\nb' },
    { status: 'deleted', statusMessage: 'a\u202eb' },
    '{"status":"deprecated","status":"deleted"}',
    '{"status":"deleted","statusMessage":"a","stat\\u0075sMessage":"b"}',
  ]
  for (const body of wrong) {
    const response = await send('PATCH', path, body)
    assert.equal(response.statusCode, 422, JSON.stringify(body))
    assert.equal(response.headers['content-type'], 'application/problem+json')
    assert.ok(response.json().issues.length > 0)
  }
  assert.equal((await send('PATCH', path, '{')).statusCode, 400)
  assert.equal((await send('PATCH', path, '"\\ud800"')).statusCode, 422)
  for (const [name, version] of [
    ['com.example%2Fother', '1.0.0'],
    ['com.example%2Fsearch', '2.0.0'],
    ['com.example%2Fsearch', 'latest'],
  ]) {
    const one = await send('PATCH', `/servers/${name}/versions/${version}/status`, { status: 'deleted' })
    assert.equal(one.statusCode, 404, one.body)
    assert.equal((await send('DELETE', `/servers/${name}/versions/${version}`)).statusCode, 404)
  }
  assert.equal(
    (await send('PATCH', '/servers/com.example%2Fother/status', { status: 'active' })).statusCode,
    404,
  )
})

test('a registry without a managed source takes no publications', async (t) => {
  const { send } = await publishing(t)
  for (const [method, path] of [
    ['POST', '/registry/reading/v0.1/publish'],
    ['PATCH', '/registry/reading/v0/servers/a%2Fb/status'],
    ['DELETE', '/registry/none/v0.1/servers/a%2Fb/versions/1'],
  ] as const) {
    const response = await send(method, path, method === 'DELETE' ? undefined : document())
    assert.equal(response.statusCode, 404)
    assert.equal(response.json().error, 'publications_not_taken')
  }
})

test('a name of an earlier source is taken, and one of a later source is hidden and logged once', async (t) => {
  const first = fileRegistry(t, [server('com.example/first', '1.0.0')]).path
  const last = fileRegistry(t, [server(NAME, '9.0.0'), server('com.example/kept', '1.0.0')]).path
  const { publish, send, lines } = await publishing(t, {
    sources: [
      { use: 'source/file', id: 'first', with: { name: 'first', path: first, watch: false } },
      { use: 'source/file', id: 'last', with: { name: 'last', path: last, watch: false } },
    ],
    order: ['first', 'published', 'last'],
  })
  const taken = await publish({ ...document(), name: 'com.example/first', version: '2.0.0' })
  assert.equal(taken.statusCode, 409)
  assert.equal(taken.json().error, 'name_taken')
  assert.match(taken.json().error_description, /"first"/)
  const path = '/servers/com.example%2Ffirst/versions/1.0.0'
  assert.equal((await send('DELETE', path)).json().error, 'version_unknown')

  assert.equal((await publish(document('1.0.0'))).statusCode, 200)
  assert.equal((await publish(document('1.1.0'))).statusCode, 200)
  const versions = await send('GET', '/servers/com.example%2Fsearch/versions')
  assert.deepEqual(
    versions.json().servers.map(({ server: { version } }: Served) => version),
    ['1.1.0', '1.0.0'],
  )
  const hidden = lines.filter(({ msg }) => /hides/.test(String(msg)))
  assert.deepEqual(
    hidden.map(({ level, hidden, name, registry }) => [level, hidden, name, registry]),
    [['warn', 'last', NAME, 'default']],
  )
})

test('a write below a public path is authorized all the same', async (t) => {
  const { publish, send, get } = await publishing(t, {
    further: [{ use: 'auth/public-paths', with: { paths: ['/registry'] } }],
  })
  const anonymous = { authorization: '' }
  assert.equal((await send('GET', '/servers', undefined, anonymous)).statusCode, 200)
  assert.equal((await publish(document(), anonymous)).statusCode, 401)
  assert.equal((await publish(document(), { authorization: 'Bearer x' })).statusCode, 401)
  assert.equal((await publish(document(), { authorization: 'Basic x' })).statusCode, 401)
  assert.equal((await publish(document())).statusCode, 200)
  const path = '/servers/com.example%2Fsearch/versions/1.0.0'
  assert.equal((await send('DELETE', path, undefined, anonymous)).statusCode, 401)
  assert.equal((await send('PATCH', `${path}/status`, { status: 'deleted' }, anonymous)).statusCode, 401)
  assert.equal((await get(NAME, '1.0.0')).statusCode, 200)
})

test('too many versions of a name are refused, and too many writes of a caller', async (t) => {
  const { publish, issuer } = await publishing(t, {
    publishers: [{ when: { iss: 'nobody' }, names: ['*'], may: ['publish'] }, ...EVERYTHING],
    options: { maxVersions: 2, publishRate: '4/1h' },
  })
  assert.equal((await publish(document('1.0.0'))).statusCode, 200)
  assert.equal((await publish(document('2.0.0'))).statusCode, 200)
  const third = await publish(document('3.0.0'))
  assert.equal(third.statusCode, 409)
  assert.equal(third.json().error, 'too_many_versions')
  assert.equal((await publish({ ...document(), name: 'com.example/other' })).statusCode, 200)
  const late = await publish(document('4.0.0'))
  assert.equal(late.statusCode, 429)
  const wait = Number(late.headers['retry-after'])
  // The fourth part of an hour.
  assert.ok(wait > 850 && wait <= 900, `${wait}`)
  const other = { authorization: `Bearer ${await issuer.jwt({ sub: 'other' })}` }
  assert.equal((await publish(document('4.0.0'), other)).statusCode, 403)
})

test('other methods of a path are refused, with the allowed methods', async (t) => {
  const { app, token } = await publishing(t)
  const allowed = async (method: 'GET' | 'PUT' | 'POST', path: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.inject({ method, url: ROOT + path, headers })
    return [response.statusCode, response.headers['allow']]
  }
  const one = '/servers/a%2Fb/versions/1'
  assert.deepEqual(await allowed('GET', '/publish'), [405, 'POST'])
  assert.deepEqual(await allowed('PUT', one), [405, 'GET, HEAD, DELETE'])
  assert.deepEqual(await allowed('GET', `${one}/status`), [405, 'PATCH'])
  assert.deepEqual(await allowed('POST', '/servers'), [405, 'GET, HEAD'])
})

test('every write is audited with its caller: published, or refused', async (t) => {
  const { publish, send, events, issuer } = await publishing(t)
  const path = '/servers/com.example%2Fsearch'
  await publish(document('1.0.0'))
  await publish(document('1.0.0'))
  await publish({ ...document(), title: 7 })
  const stranger = { authorization: `Bearer ${await issuer.jwt({ sub: 'stranger' })}` }
  await publish(document('1.1.0'), stranger)
  await publish(document('1.1.0'), { authorization: '' })
  const why = { status: 'deprecated', statusMessage: 'old' }
  await send('PATCH', `${path}/versions/1.0.0/status`, why)
  await send('DELETE', `${path}/versions/1.0.0`)
  await send('PATCH', `${path}/status`, { status: 'active' })
  await send('PATCH', `${path}/status`, { status: 'active' })

  assert.deepEqual(
    events.map(({ kind, status, subject }) => [kind, status, subject]),
    [
      ['published', 200, 'somebody'],
      ['refused', 409, 'somebody'],
      ['refused', 422, 'somebody'],
      ['refused', 403, 'stranger'],
      ['refused', 401, undefined],
      ['published', 200, 'somebody'],
      ['published', 200, 'somebody'],
      ['published', 200, 'somebody'],
      ['accepted', 200, 'somebody'],
    ],
  )
  const version = { registry: 'default', name: NAME, version: '1.0.0' }
  const active = { status: 'active' }
  assert.deepEqual(
    events.flatMap(({ server: change }) => change ?? []),
    [
      { ...version, action: 'publish', after: active },
      { ...version, action: 'status', before: active, after: why },
      { ...version, action: 'status', before: why, after: { status: 'deleted' } },
      {
        registry: 'default',
        name: NAME,
        action: 'status',
        after: active,
        count: 1,
        versions: [{ version: '1.0.0', before: { status: 'deleted' } }],
      },
    ],
  )
  assert.ok(events.every(({ provider }, index) => index === 4 || provider === 'corp'))
})

test('a list in which anybody or nobody could publish is refused at the start', async (t) => {
  const issuer = await issuing(t)
  const list = publishingList(t, issuer)
  const starting = (entries: readonly Entry[]) => boot(entries, contextFor({}))
  const without = list.filter(({ use }) => use !== 'auth/oidc' && use !== 'discovery/issuer')
  const anonymous = { use: 'auth/anonymous' }

  await assert.rejects(starting([anonymous, ...without]), ConfigError)
  await assert.rejects(starting([anonymous, ...list]), ConfigError)
  await assert.rejects(starting(without), ConfigError)
  const swapped = list.toSorted(({ use }) => (use === 'registry/api' ? -1 : 0))
  await assert.rejects(starting(swapped), /before registry\/api/)
  const nobody = publishingList(t, issuer, {
    publishers: [],
    store: { use: 'store/sqlite', with: { directory: folder(t) } },
  })
  const open = await starting([
    anonymous,
    ...nobody.filter(({ use }) => use !== 'auth/oidc' && use !== 'discovery/issuer'),
  ])
  t.after(() => open.stop())
  const refused = await open.app.inject({
    method: 'POST',
    url: `${ROOT}/publish`,
    payload: '{}',
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(refused.statusCode, 403)
})

test('wrong options are refused', async (t) => {
  const issuer = await issuing(t)
  const rule = { when: { a: 'b' }, names: ['*'], may: ['edit'] }
  const wrong: readonly object[] = [
    { publishers: [{ ...rule, when: {} }] },
    { publishers: [{ ...rule, when: { groups: '' } }] },
    { publishers: [{ ...rule, when: { groups: ['a', ''] } }] },
    { publishers: [{ ...rule, names: [] }] },
    { publishers: [{ ...rule, names: [''] }] },
    { publishers: [{ ...rule, names: ['*.example/x'] }] },
    { publishers: [{ ...rule, names: ['com.example'] }] },
    { publishers: [{ ...rule, names: ['com.example/a b'] }] },
    { publishers: [{ ...rule, names: ['com.example/**'] }] },
    { publishers: [{ ...rule, may: [] }] },
    { publishers: [{ ...rule, may: ['delete'] }] },
    { publishers: [{ ...rule, more: 1 }] },
    { publishers: [{ names: ['*'], may: ['edit'] }] },
    { publishRate: '0/1m' },
    { publishRate: '5' },
    { publishRate: '5/25h' },
    { maxVersions: 0 },
  ]
  for (const options of wrong) {
    const list = publishingList(t, issuer, { options })
    await assert.rejects(boot(list, contextFor({})), ConfigError, JSON.stringify(options))
  }
})

test('an address that validates or logs in too often is refused, and one that publishes is not', async (t) => {
  const { publish, send } = await publishing(t, { options: { openRate: '3/1h' } })
  const anonymous = { authorization: '' }
  const login = { oidc_token: 'x' }
  assert.equal((await send('POST', '/validate', document(), anonymous)).statusCode, 200)
  assert.equal((await send('POST', '/auth/oidc', login, anonymous)).statusCode, 401)
  assert.equal((await send('POST', '/registry/none/v0/validate', document(), anonymous)).statusCode, 200)
  const late = await send('POST', '/validate', document(), anonymous)
  assert.equal(late.statusCode, 429)
  assert.equal(late.json().error, 'too_many_requests')
  // The third part of an hour.
  assert.ok(Number(late.headers['retry-after']) > 1_100)
  assert.equal((await send('POST', '/auth/oidc', login, anonymous)).statusCode, 429)
  assert.equal((await publish(document())).statusCode, 200)
})

test('a publication may be as large as a document of the catalogue', async (t) => {
  const { publish, get } = await publishing(t, { catalogue: { maxDocumentBytes: 2_000 } })
  const padded = (size: number) => JSON.stringify(document()).padEnd(size)
  assert.equal((await publish(padded(2_001))).statusCode, 413)
  assert.equal((await publish(padded(2_000))).statusCode, 200)
  assert.equal((await get(NAME, '1.0.0')).statusCode, 200)
})

test('the response to a change of very many versions has the newest and their number', async (t) => {
  const { publish, send, events } = await publishing(t)
  const versions = Array.from({ length: 120 }, (_, index) => `1.0.${index}`)
  await Promise.all(versions.map((version) => publish(document(version))))
  const response = await send('PATCH', '/servers/com.example%2Fsearch/status', { status: 'deprecated' })

  const { updatedCount, servers } = response.json()
  assert.equal(updatedCount, 120)
  assert.equal(servers.length, 100)
  assert.equal(servers[0].server.version, '1.0.119')
  const change = events.at(-1)?.server
  assert.equal(change?.count, 120)
  assert.equal(new Set(change?.versions?.map(({ version }) => version)).size, 120)
})
