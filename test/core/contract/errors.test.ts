import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, GatewayError, Refusal, UpstreamError } from 'sallyport'

test('each class has its status, and keeps its code and cause', () => {
  const cause = new Error('why')
  const errors = [
    new GatewayError('ONE', 'no', { cause }),
    new ConfigError([{ place: 'a', message: 'no' }], { cause }),
    new Refusal(403, 'THREE', 'no', { cause }),
    new UpstreamError('FOUR', 'no', { cause }),
    new UpstreamError('FIVE', 'no', { cause, statusCode: 504, retryAfter: 3 }),
  ]
  assert.deepEqual(
    errors.map(({ name, code, statusCode }) => [name, code, statusCode]),
    [
      ['GatewayError', 'ONE', 500],
      ['ConfigError', 'CONFIG_INVALID', 500],
      ['Refusal', 'THREE', 403],
      ['UpstreamError', 'FOUR', 502],
      ['UpstreamError', 'FIVE', 504],
    ],
  )
  for (const error of errors) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.cause, cause)
  }
})

test('a ConfigError lists all its problems, a line for each', () => {
  const error = new ConfigError([
    { place: 'a', message: 'no' },
    { place: 'b', message: 'nor this', suggestion: 'c' },
  ])
  assert.equal(error.message, 'a: no\nb: nor this (did you mean "c"?)')
})
