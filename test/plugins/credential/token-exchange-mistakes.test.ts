import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { folder } from '#kit/folder.js'
import { bearers, exchange, gatewayOf } from './exchanging.js'

test('wrong options stop the boot, and one error reports all of them', async (t) => {
  const places = (options: Readonly<Record<string, unknown>>, url = 'https://idp.example/token') =>
    gatewayOf(t, 'http://127.0.0.1:9', [bearers, exchange(url, options)]).then(
      () => [],
      (error: unknown) =>
        error instanceof ConfigError ? error.problems.map(({ place }) => place) : ['no ConfigError'],
    )
  const at = (...names: string[]) => names.map((name) => `plugin "credential/token-exchange": ${name}`)
  const home = folder(t, { empty: '\n' })

  assert.deepEqual(
    await places({
      clientId: 'a',
      clientSecretFile: `${home}/missing`,
      actorTokenFile: `${home}/empty`,
      caCertPath: `${home}/missing`,
    }),
    at('clientSecretFile', 'actorTokenFile', 'caCertPath'),
  )
  assert.deepEqual(await places({}, 'http://idp.example/token'), at('url'))
  assert.deepEqual(await places({ subject: 'login' }), at('subject'), 'nobody signs in here')
  const wrong = await places({
    clientSecret: 'a',
    clientSecretFile: 'b',
    subjectTokenType: 'a token',
    headerName: 'Host',
    headerForm: 'Bearer',
    resource: 'mcp',
    scopes: ['a b'],
    extraFields: { subject_token: 'another' },
    requestNames: { subject_token: null },
    more: true,
  })
  for (const option of ['subjectTokenType', 'headerName', 'headerForm', 'resource', 'scopes', 'more'])
    assert.ok(
      wrong.some((place) => place.includes(option)),
      `${option} in ${wrong}`,
    )
  const together = await places({
    clientSecret: 'a',
    clientSecretFile: 'b',
    extraFields: { subject_token: 'another', sub: 'fine' },
    requestNames: { audience: null },
  })
  assert.equal(together.length, 4)
  assert.equal(
    (await places({ extraFields: { assertion: 'a' }, requestNames: { subject_token: 'assertion' } })).length,
    1,
  )
})
