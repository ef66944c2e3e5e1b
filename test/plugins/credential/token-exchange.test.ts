import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpstreamError } from 'sallyport'
import { contractSuite, issuing } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { send } from '../forward/proxied.js'
import {
  bearer,
  bearers,
  echo,
  exchange,
  exchanging,
  gatewayOf,
  granting,
  ISSUED,
  loginCredential,
  tokenEndpoint,
} from './exchanging.js'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'

test('CL-25: the body is the standard one, without unset options, and the target gets only the new token', async (t) => {
  const { main, endpoint, target } = await exchanging(t, granting({ access_token: 'for-target' }), {
    clientId: 'gateway',
  })

  assert.equal((await send(main, bearer('mine'))).status, 200)
  assert.deepEqual(Object.fromEntries(endpoint.asked[0]?.form ?? []), {
    grant_type: GRANT,
    subject_token: 'mine',
    subject_token_type: ISSUED,
    client_id: 'gateway',
  })
  const { headers, path } = endpoint.asked[0] ?? {}
  assert.equal(headers?.['content-type'], 'application/x-www-form-urlencoded')
  assert.equal(headers?.authorization, undefined)
  assert.equal(path, '/token')
  assert.equal(target.seen[0]?.authorization, 'Bearer for-target')
})

test('CL-25: every option is sent, and the client by Basic in its encoded form and not in the body', async (t) => {
  const home = folder(t, { actor: 'the-actor\n', secret: 'se:c ret%+é\n' })
  const { main, endpoint } = await exchanging(t, granting({}), {
    clientId: 'a client:1',
    clientSecretFile: `${home}/secret`,
    audience: 'urn:target & more',
    resource: 'https://target.example/mcp',
    scopes: ['read', 'write:all'],
    requestedTokenType: 'access_token',
    actorTokenFile: `${home}/actor`,
    actorTokenType: 'jwt',
    subjectTokenType: 'urn:ietf:params:oauth:token-type:jwt',
  })

  assert.equal((await send(main, bearer('mine'))).status, 200)
  const [asked] = endpoint.asked
  assert.deepEqual(Object.fromEntries(asked?.form ?? []), {
    grant_type: GRANT,
    requested_token_type: ISSUED,
    audience: 'urn:target & more',
    resource: 'https://target.example/mcp',
    scope: 'read write:all',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: 'mine',
    actor_token: 'the-actor',
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  })
  const pair = Buffer.from(asked?.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
  assert.equal(pair, 'a+client%3A1:se%3Ac+ret%25%2B%C3%A9')
})

test('the client secret can be sent in the body, and is then not in a header', async (t) => {
  const { main, endpoint } = await exchanging(t, granting({}), {
    clientId: 'gateway',
    clientSecret: 'hidden-secret',
    clientAuthentication: 'post',
  })

  await send(main, bearer('mine'))
  const [asked] = endpoint.asked
  assert.equal(asked?.headers.authorization, undefined)
  assert.deepEqual(
    [asked?.form.get('client_id'), asked?.form.get('client_secret')],
    ['gateway', 'hidden-secret'],
  )
})

test('T8: in another header the new token is sent as Bearer, and Authorization is removed', async (t) => {
  const { main, target } = await exchanging(t, granting({}), { headerName: 'X-Target-Token' })

  const answer = await send(main, bearer('mine', { 'x-target-token': 'forged' }))
  assert.equal(answer.status, 200)
  const { authorization, 'x-target-token': token } = target.seen[0] ?? {}
  assert.deepEqual([authorization, token], [undefined, 'Bearer new'])
  assert.ok(!JSON.stringify(target.seen).includes('mine'))
})

test('with a login before it, the access token or the ID token of the login is exchanged', async (t) => {
  const endpoint = await tokenEndpoint(t, granting({}))
  const target = await echo(t)
  const held = { header: 'authorization', value: 'Bearer a', accessToken: 'a', idToken: 'i' }
  for (const [subjectTokenType, wanted] of [
    ['access_token', 'a'],
    ['id_token', 'i'],
    ['urn:ietf:params:oauth:token-type:id_token', 'i'],
  ]) {
    const { main } = await gatewayOf(t, target.origin, [
      bearers,
      loginCredential(() => held),
      exchange(endpoint.url, { subjectTokenType }),
    ])
    assert.equal((await send(main, bearer('mine'))).status, 200)
    const form = endpoint.asked.at(-1)?.form
    assert.equal(form?.get('subject_token'), wanted)
    assert.equal(
      form?.get('subject_token_type'),
      `urn:ietf:params:oauth:token-type:${wanted === 'a' ? 'access_token' : 'id_token'}`,
    )
  }
})

test('for a login without the needed token, the token of the caller is not used', async (t) => {
  const endpoint = await tokenEndpoint(t, granting({}))
  const target = await echo(t)
  const { main } = await gatewayOf(t, target.origin, [
    bearers,
    loginCredential(() => ({ header: 'authorization', value: 'Bearer a', accessToken: 'a' })),
    exchange(endpoint.url, { subjectTokenType: 'id_token' }),
  ])

  assert.equal((await send(main, bearer('mine'))).status, 502)
  assert.deepEqual([endpoint.asked.length, target.seen.length], [0, 0])
})

test('CL-27: a caller without a token gets a 401, and neither endpoint nor target gets a request', async (t) => {
  const endpoint = await tokenEndpoint(t, granting({}))
  const target = await echo(t)
  const { main } = await gatewayOf(t, target.origin, [
    bearers,
    { use: 'auth/anonymous' },
    exchange(endpoint.url),
  ])

  const { status, headers } = await send(main)
  assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'])
  assert.deepEqual([endpoint.asked.length, target.seen.length], [0, 0])
})

test('a list without any token to exchange stops the boot', async (t) => {
  const boot = gatewayOf(t, 'http://127.0.0.1:9', [{ use: 'auth/anonymous' }, exchange('http://127.0.0.1:9')])
  await assert.rejects(boot, { name: 'ConfigError' })
})

test('the error of a login is sent to the caller, and nothing is exchanged', async (t) => {
  const endpoint = await tokenEndpoint(t, granting({}))
  const { main } = await gatewayOf(t, 'http://127.0.0.1:9', [
    bearers,
    loginCredential(() => {
      throw new UpstreamError('LOGIN_PENDING', 'sign in first', { statusCode: 503 })
    }),
    exchange(endpoint.url),
  ])

  assert.equal((await send(main, bearer('mine'))).status, 503)
  assert.equal(endpoint.asked.length, 0)
})

test('a token that the target refuses is exchanged once more, and only once', async (t) => {
  let issued = 0
  const count = granting(() => ({ access_token: `v${++issued}` }))
  const good = await exchanging(t, count, {}, (token) => (token === 'Bearer v1' ? 401 : 200))
  assert.equal((await send(good.main, bearer('mine'))).status, 200)
  assert.equal((await send(good.main, bearer('mine'))).status, 200)
  assert.deepEqual(
    good.target.seen.map(({ authorization }) => authorization),
    ['Bearer v1', 'Bearer v2', 'Bearer v2'],
  )
  assert.equal(good.endpoint.asked.length, 2)

  const bad = await exchanging(t, granting({}), {}, () => 401)
  assert.equal((await send(bad.main, bearer('mine'))).status, 502)
  assert.deepEqual([bad.endpoint.asked.length, bad.target.seen.length], [2, 2])
  // A target that refuses everything does not cost an exchange for every request.
  for (const _ of [1, 2, 3]) assert.equal((await send(bad.main, bearer('mine'))).status, 502)
  assert.equal(bad.endpoint.asked.length, 2)

  const forbidden = await exchanging(t, granting({}), {}, () => 403)
  assert.equal((await send(forbidden.main, bearer('mine'))).status, 403)
  assert.equal(forbidden.endpoint.asked.length, 1)
})

test('concurrent refused requests share one new exchange', async (t) => {
  let issued = 0
  const { main, endpoint } = await exchanging(
    t,
    granting(() => ({ access_token: `v${++issued}` })),
    {},
    (token) => (token === 'Bearer v1' ? 401 : 200),
  )
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(main, bearer('mine'))))

  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(endpoint.asked.length, 2)
})

test('options change field names, extra fields, JSON and the format of the header', async (t) => {
  const { main, endpoint, target } = await exchanging(
    t,
    granting({ access_token: undefined, issued_token_type: undefined, token: 'renamed' }),
    {
      grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      clientId: 'gateway',
      requestFormat: 'json',
      requestNames: { subject_token: 'assertion', subject_token_type: null },
      extraFields: { requested_token_use: 'on_behalf_of' },
      responseNames: { access_token: 'token', issued_token_type: null },
      headerName: 'x-api-key',
      headerForm: 'key={token}',
    },
  )

  assert.equal((await send(main, bearer('mine'))).status, 200)
  assert.equal(endpoint.asked[0]?.headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(endpoint.asked[0]?.body ?? ''), {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    requested_token_use: 'on_behalf_of',
    assertion: 'mine',
    client_id: 'gateway',
  })
  assert.equal(target.seen[0]?.['x-api-key'], 'key=renamed')
})

contractSuite('credential/token-exchange', async (t) => {
  const issuer = await issuing(t)
  const exchange = { url: issuer.tokenUrl, allowPrivateIP: true }
  return {
    list: [
      { use: 'discovery/issuer' },
      { use: 'auth/jwt', with: issuer.provider },
      { use: 'credential/token-exchange', with: exchange },
    ],
    fixtures: { token: await issuer.jwt() },
  }
})
