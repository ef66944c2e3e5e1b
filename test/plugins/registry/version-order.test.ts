import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { BASE, fileRegistry, idsIn, server, wrapped } from './registry.js'

async function ordered(t: Parameters<typeof booted>[0], documents: unknown[]): Promise<string[]> {
  const app = await booted(t, fileRegistry(t, documents).list)
  const { statusCode, body } = await app.inject(`${BASE}/a.example%2Fone/versions`)
  assert.equal(statusCode, 200)
  return idsIn(JSON.parse(body)).map((id) => id.replace('a.example/one@', ''))
}

const shuffled = <T>(items: readonly T[], seed: number): T[] =>
  fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), { numRuns: 1, seed })[0] ?? []

test('versions are sorted as in semver 2.0.0, section 11, newest first, whatever order they come in', async (t) => {
  const inOrder = [
    '18446744073709551616.0.0',
    '18446744073709551615.0.0',
    '10.0.0',
    '2.0.0',
    'v1.10.0',
    '1.9.0',
    '1.0.0+build.2',
    '1.0.0+build.1',
    '1.0.0',
    '1.0.0-rc.1',
    '1.0.0-beta.11',
    '1.0.0-beta.2',
    '1.0.0-beta',
    '1.0.0-alpha.beta',
    '1.0.0-alpha.1',
    '1.0.0-alpha',
    '1.0.0--',
    '1.0.0-99999999999999999999',
    '1.0.0-1',
  ]
  for (const seed of [1, 2, 3]) {
    const given = shuffled(inOrder, seed).map((version) => server('a.example/one', version))
    assert.deepEqual(await ordered(t, given), inOrder)
  }
})

test('versions that are not semantic come after those that are, the latest publication first', async (t) => {
  const at = (version: string, day: string) =>
    wrapped(server('a.example/one', version), { publishedAt: `2024-01-${day}T00:00:00+02:00` })
  const given = [at('nightly', '03'), at('2024-05', '01'), at('0.0.1', '01'), at('1.2', '02'), at('b', '02')]
  for (const seed of [1, 2, 3])
    assert.deepEqual(await ordered(t, shuffled(given, seed)), ['0.0.1', 'nightly', 'b', '1.2', '2024-05'])
})
