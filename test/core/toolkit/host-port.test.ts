import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatHostPort, parseHostPort } from 'sallyport/toolkit'

test('addresses need a host and a port, and brackets around IPv6', () => {
  assert.deepEqual(parseHostPort('127.0.0.1:80'), { host: '127.0.0.1', port: 80 })
  assert.deepEqual(parseHostPort('[::1]:0'), { host: '::1', port: 0 })
  assert.deepEqual(parseHostPort('localhost:65535'), { host: 'localhost', port: 65_535 })
  for (const text of [
    ':80',
    '::1:80',
    '[::1]',
    'a:',
    'a:65536',
    '[a]:1',
    'u@h:1',
    'http://h:1',
    'h :1',
    'h:1x',
    '',
  ]) {
    assert.equal(parseHostPort(text), undefined, text)
  }
})

test('every address round-trips', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()), fc.nat({ max: 65_535 }), (host, port) => {
      assert.deepEqual(parseHostPort(formatHostPort({ host, port })), { host, port })
    }),
  )
})
