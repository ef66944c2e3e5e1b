import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { subjectName } from 'sallyport/toolkit'

test('a resource is named without its query, its fragment and credentials', () => {
  for (const [name, written] of [
    ['https://ann:SECRET@a.example/b?SECRET#SECRET', 'https://a.example/b'],
    ['//SECRET@a/b', '//a/b'],
    ['file:///a/b@c', 'file:///a/b@c'],
    ['postgres://u:SEC/RET@h/db', 'postgres://h/db'],
    ['https:\\\\u:SECRET@h', 'https:\\\\h'],
    ['u:SECRET@h:p', 'u:h:p'],
    ['x/y//u:SECRET@h/', 'h/'],
    ['data:text/plain,SECRET', 'data:'],
    ['file:///x;token=SECRET', 'file:///x'],
    ['https://ann:SECRET@host/x@y', 'https://host/x@y'],
    ['https://host:8443/@me', 'https://host:8443/@me'],
    ['npm:@scope/name', 'npm:scope/name'],
    ['notes:a\n?SECRET\nSECRET', 'notes:a\n'],
    ['x'.repeat(300), 'x'.repeat(256)],
  ] as const)
    assert.equal(subjectName({ kind: 'resource', name }), written)
  assert.equal(subjectName({ kind: 'tool', name: 'what?' }), 'what?')
})

test('the name of a resource is cut at a question mark or a number sign', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('?', '#'), (before, mark) => {
      const written = subjectName({ kind: 'resource', name: `${before}${mark}SECRET` })
      assert.ok(!written.includes('SECRET'))
      assert.ok(written.length <= 256)
    }),
  )
})
