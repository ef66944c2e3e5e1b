import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Source, type SyncContext } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { findsFaults, resultsFor } from '#kit/conformance.js'
import { folder } from '#kit/folder.js'

contractSuite('source/file', (t) => {
  const path = join(folder(t, { 'servers.json': '[]' }), 'servers.json')
  return { list: [{ use: 'source/file', with: { name: 'own', path } }] }
})

const whole = (more: object = {}) => ({ kind: 'whole', payloads: [Buffer.from('[]')], ...more })
const providing = (more: object): unknown => ({
  name: 'n',
  location: 'p',
  fetch: async () => whole(),
  ...more,
})
const fetching = (more: object): unknown => providing({ fetch: async () => whole(more) })

test('a source that cannot be reached is inconclusive', async (t) => {
  const fetch = async ({ signal }: SyncContext) => {
    signal.throwIfAborted()
    throw new Error('nobody is there')
  }
  const results = await resultsFor(t, Source, providing({ fetch }))
  const states = results.filter(({ state }) => state !== 'passed').map(({ state }) => state)
  assert.deepEqual(states, ['inconclusive'])
})

findsFaults(Source, {
  'a source without a location': { code: 'SOURCE_UNNAMED', make: () => providing({ location: '' }) },
  'an interval of 0': { code: 'INTERVAL_MALFORMED', make: () => providing({ every: 0 }) },
  'payloads that are texts': { code: 'SOURCE_MALFORMED', make: () => fetching({ payloads: ['[]'] }) },
  'payloads that are no JSON': {
    code: 'SOURCE_MALFORMED',
    make: () => fetching({ payloads: [Buffer.from('[')] }),
  },
  'unchanged without a first sync': {
    code: 'SOURCE_MALFORMED',
    make: () => fetching({ kind: 'unchanged' }),
  },
  'a date that is a text': { code: 'SOURCE_MALFORMED', make: () => fetching({ asOf: '2030-01-01' }) },
  'a bookmark that is no text': { code: 'SOURCE_MALFORMED', make: () => fetching({ bookmark: () => 7 }) },
  'a fetch that ignores the abort': {
    code: 'ABORT_IGNORED',
    make: () => providing({ fetch: () => new Promise(() => {}) }),
  },
  'a watch that cannot be ended': { code: 'WATCH_MALFORMED', make: () => providing({ watch: () => {} }) },
})
