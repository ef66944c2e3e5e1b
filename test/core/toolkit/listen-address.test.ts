import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listenAddress } from 'sallyport/toolkit'

test('an address is a host and a port', () => {
  for (const address of ['127.0.0.1:0', 'localhost:8080', '[::1]:65535', '[fe80::1%eth0]:1', '0.0.0.0:80']) {
    assert.equal(listenAddress().parse(address), address)
  }
  for (const wrong of [
    '',
    '8080',
    ':8080',
    'a:',
    '::1:80',
    '[::1]',
    'a:65536',
    'a:-1',
    'a b:1',
    'http://a:1',
  ]) {
    assert.equal(listenAddress().safeParse(wrong).success, false, wrong)
  }
})
