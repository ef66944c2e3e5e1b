import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { nearest, problemLine, unknownName } from '#core/contract/problem.js'

const known = ['guard/origin', 'guard/host', 'listen/http']

test('a problem is one line, with the nearest known name', () => {
  assert.equal(problemLine({ place: 'plugins[0].use', message: 'unknown' }), 'plugins[0].use: unknown')
  assert.equal(
    problemLine({ place: 'a', ...unknownName('unknown', 'gaurd/origin', known) }),
    'a: unknown (did you mean "guard/origin"?)',
  )
})

test('an unknown name that resembles no known name is reported with all known names', () => {
  assert.deepEqual(unknownName('unknown', 'zzzzzz', known), {
    message: `unknown; known here: ${known.join(', ')}`,
  })
  assert.deepEqual(unknownName('unknown', 'zzzzzz', []), { message: 'unknown' })
})

test('the beginning of a name suggests the shortest name that begins with it', () => {
  assert.equal(nearest('aud', ['audience-of-somebody', 'audience-of']), 'audience-of')
  assert.equal(nearest('au', ['audience-of']), undefined)
})

test('a known name is nearest to itself, and each suggestion is a known name', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 5 }),
      (written, names) => {
        const found = nearest(written, names)
        assert.ok(found === undefined || names.includes(found))
        for (const name of names) assert.equal(nearest(name, names)?.toLowerCase(), name.toLowerCase())
      },
    ),
  )
})
