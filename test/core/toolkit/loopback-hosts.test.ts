import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loopbackHosts } from 'sallyport/toolkit'

test('the loopback names have the open port, except the default port of http', () => {
  assert.deepEqual(loopbackHosts({ main: 'http://127.1.2.3:9000' }), [
    '127.1.2.3:9000',
    'localhost:9000',
    '127.0.0.1:9000',
    '[::1]:9000',
  ])
  assert.deepEqual(loopbackHosts({ main: 'http://127.0.0.1:80' }).at(1), 'localhost')
  assert.deepEqual(loopbackHosts({}), [])
})
