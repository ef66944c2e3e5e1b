import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPassing, reasonOf, replyCode, unavailable } from '#plugins/store/redis/failure.js'

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' })

test('a failure is reported by its meaning, and quotes nothing of the error', () => {
  assert.match(
    reasonOf(reply('WRONGPASS invalid username-password pair')),
    /refused the user or the password/,
  )
  assert.match(reasonOf(reply('constructor x')), /replied with the error ERR/)
  assert.match(reasonOf(Object.assign(new Error('x'), { code: 'ECONNREFUSED' })), /nothing listens/)
  assert.match(
    reasonOf(new AggregateError([Object.assign(new Error('x'), { code: 'ENOTFOUND' })])),
    /resolve/,
  )
  assert.match(reasonOf(Object.assign(new Error('x'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })), /caCertPath/)
  assert.match(reasonOf(new Error('connect ETIMEDOUT')), /in time/)
  assert.deepEqual(
    [isPassing(reply('LOADING x')), isPassing(reply('OOM x')), isPassing(new Error('LOADING'))],
    [true, false, false],
  )
  assert.deepEqual([unavailable('x').statusCode, unavailable('x').retryAfter], [503, 5])

  fc.assert(
    fc.property(fc.string({ minLength: 10 }), fc.constantFrom('ERR ', 'NOSCRIPT ', ''), (secret, prefix) => {
      for (const error of [reply(prefix + secret), new Error(secret), secret])
        if (replyCode(error) !== secret) assert.ok(!reasonOf(error).includes(secret))
    }),
  )
})
