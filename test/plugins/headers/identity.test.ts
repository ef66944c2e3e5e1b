import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, type Identity } from 'sallyport'
import { booted, contractSuite, listening } from 'sallyport/testing'
import { providing } from '#kit/plugin.js'

contractSuite('headers/identity', () => ({
  list: [{ use: 'headers/identity', with: { headers: [{ name: 'X-User', claim: 'sub' }] } }],
}))

/** Accepts every caller with the claims in a header. */
const acceptsAll = providing('accepts-all', Authenticator, {
  provider: 'accepts-all',
  authenticate: ({ headers }) => {
    const claims: Identity['claims'] = JSON.parse(String(headers['x-claims']))
    return { identity: { provider: 'accepts-all', subject: 'me', claims } }
  },
})

test('the gateway sends claims as header values, and removes headers of the caller with these names', async (t) => {
  const target = await listening(t, ({ headers }, response) =>
    response.end(JSON.stringify([headers['x-user'], headers['x-groups']])),
  )
  const app = await booted(t, [
    acceptsAll,
    {
      use: 'headers/identity',
      with: {
        headers: [
          { name: 'X-User', claim: 'sub' },
          { name: 'X-Groups', claim: 'groups' },
        ],
      },
    },
    { use: 'forward/http', with: { target } },
  ])
  const sent = async (claims: object) => {
    const headers = { 'x-claims': JSON.stringify(claims), 'x-user': 'root', 'X-GROUPS': 'admin' }
    return JSON.parse((await app.inject({ url: '/', headers })).body)
  }

  assert.deepEqual(await sent({ sub: 'ada', groups: ['a', 'b'] }), ['ada', 'a b'])
  assert.deepEqual(await sent({ sub: 7, groups: true }), ['7', 'true'])
  for (const claim of [
    {},
    { a: 1 },
    ['a b'],
    ['a', 1],
    null,
    'a\r\nx: 1',
    ' a',
    '',
    ['a\tb'],
    ['a\u00a0b'],
    ['a\u0085b'],
    'a\u00a0',
    '\u0085a',
  ]) {
    assert.deepEqual(await sent({ sub: claim }), [null, null], JSON.stringify(claim))
  }
  const utf8 = Buffer.from('Zoë').toString('latin1')
  assert.deepEqual(await sent({ sub: 'Zoë' }), [utf8, null])
})

test('a header that is named twice stops the start', async (t) => {
  const headers = [
    { name: 'X-User', claim: 'sub' },
    { name: 'x-user', claim: 'name' },
  ]
  const list = [{ use: 'headers/identity', with: { headers } }]
  await assert.rejects(booted(t, list), { code: 'CONFIG_INVALID' })
})
