import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { returnAddress } from '#plugins/pages/sign-in/routes.js'

const ORIGIN = 'https://registry.example.com'
const at = (asked: unknown, scope = '') => returnAddress(asked, ORIGIN, scope)

test('a person returns to a path of the gateway with its query', () => {
  for (const asked of ['/', '/registry/default?search=a%2Fb&x=1', '/registry/a/servers/b%2Fc/1.0.0'])
    assert.equal(at(asked), asked)
  assert.equal(at('/registry/./a/../b#part'), '/registry/b')
  assert.equal(at('/x/registry/a', '/x'), '/x/registry/a')
})

test('a person with any other return address goes to the home page', () => {
  for (const asked of [
    undefined,
    ['/registry'],
    '',
    'registry',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/\t/evil.example',
    '/a\r\nset-cookie: x',
    'https://evil.example',
    'javascript:alert(1)',
    '/registry/ä',
    `/${'a'.repeat(2_000)}`,
    '/sign-in?return=/sign-in',
    '/sign-in/callback?code=x',
    '/%73ign-in',
    '/sign-out',
    '/signed-out',
  ])
    assert.equal(at(asked), '/', String(asked))
  for (const asked of ['/', '/xy', '/x/../y', '/x//evil.example/../../..//evil', '/x/sign-in'])
    assert.equal(at(asked, '/x'), '/x/', asked)
})

test('with any return address a browser stays at the origin, and no value ends the header', () => {
  const part = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    '\t',
    '\n',
    '@',
    ':',
    '//',
    'evil.example',
    '?',
    '#',
    'a',
  )
  const tricks = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(tricks, fc.string(), fc.webUrl(), fc.webPath()), (asked) => {
      for (const each of [asked, `/${asked}`]) {
        const path = at(each)
        assert.match(path, /^\/(?!\/)[\x21-\x7e]*$/)
        assert.ok(!path.includes('\\'))
        assert.equal(new URL(ORIGIN + path).origin, ORIGIN)
        // As a relative reference too, which `Location` may be.
        assert.equal(new URL(path, ORIGIN).href, ORIGIN + path)
        assert.equal(at(path), path)
      }
    }),
    { numRuns: runs(500) },
  )
})
