import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import { workerCount } from '#cli/workers/flags.js'
import { placesOf, proxied } from '../parsed.js'

test('--workers is a number, or auto for the number of cores', () => {
  for (const text of ['0', '257', '-1', '1.5', '0x2', 'all', '']) {
    assert.deepEqual(placesOf(proxied([`--workers=${text}`])), ['--workers'], text)
  }
  assert.deepEqual(placesOf(proxied([], { SALLYPORT_WORKERS: 'many' })), ['SALLYPORT_WORKERS'])
  const count = (flags: readonly string[], environment = {}) => {
    const { invocation } = proxied(flags, environment)
    return invocation && workerCount(invocation)
  }
  assert.equal(count([]), 1)
  assert.equal(count(['--workers', '256']), 256)
  assert.equal(count([], { SALLYPORT_WORKERS: '3' }), 3)
  assert.equal(count(['--workers', 'auto']), availableParallelism())
})
