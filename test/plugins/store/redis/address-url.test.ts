import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { settingsOf, urlFault } from '#plugins/store/redis/address.js'

test('user, password, host, port and database are read, and nothing else is taken', () => {
  assert.deepEqual(settingsOf('redis://127.0.0.1', undefined), { host: '127.0.0.1', port: 6379, db: 0 })
  assert.deepEqual(settingsOf('rediss://me:p%40ss%2Fword@[::1]:7000/12', undefined), {
    ...{ host: '::1', port: 7000, username: 'me', password: 'p@ss/word', db: 12 },
    tls: { rejectUnauthorized: true },
  })
  assert.deepEqual(settingsOf('redis://:secret@redis', 'PEM').tls, { rejectUnauthorized: true, ca: 'PEM' })
  for (const text of [
    '',
    'redis',
    'redis://',
    'http://a',
    'redis:///1',
    'redis://a/b',
    'redis://a/0/1',
    'redis://a?tls=no',
    'redis://a#b',
    'redis://:%zz@a',
    'redis://a:port',
  ])
    assert.match(urlFault(text) ?? '', /redis:\/\/USER:PASSWORD@HOST/, text)
})

test('any password is parsed, and a fault never quotes one', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (password) => {
      assert.equal(settingsOf(`redis://u:${encodeURIComponent(password)}@h`, undefined).password, password)
    }),
  )
  fc.assert(
    fc.property(fc.string({ minLength: 12 }), (text) => {
      assert.ok(!(urlFault(`redis://u:${text}@h/x`) ?? '').includes(text))
    }),
  )
})
