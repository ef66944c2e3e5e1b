import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Identity, Refusal } from 'sallyport'
import { type PublisherRule, Publishers, publisherRules } from '#plugins/registry/publish/publishers.js'

const caller = (claims: Identity['claims']): Identity => ({ provider: 'corp', subject: 'ann', claims })

function refusalOf(
  publishers: Publishers,
  action: 'publish' | 'edit',
  name: string | undefined,
  who: Identity,
) {
  try {
    publishers.check(action, name, who)
    return undefined
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error
  }
}

test('the rules allow a caller exactly the names of a matching rule, and a refusal shows no other name', () => {
  const namespace = fc.constantFrom('com.example', 'com.Example', 'com.example.sub', 'org.a', 'o')
  const own = fc.constantFrom('a', 'ab', 'A', 'a.b', '-')
  const name = fc.tuple(namespace, own).map((parts) => parts.join('/'))
  const pattern = fc.oneof(
    name,
    name.chain((text) => fc.nat(text.length).map((at) => `${text.slice(0, at)}*`)),
  )
  const rule = fc.record({
    when: fc.record({ team: fc.constantFrom('x', 'y') }),
    names: fc.array(pattern, { minLength: 1, maxLength: 3 }),
    may: fc.uniqueArray(fc.constantFrom('publish' as const, 'edit' as const), { minLength: 1 }),
  })
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 4 }),
      fc.constantFrom('publish' as const, 'edit' as const),
      name,
      fc.constantFrom('x', 'y', 'z'),
      (written, action, wanted, team) => {
        const rules: PublisherRule[] = publisherRules.parse(written)
        const own = rules.filter(({ when, may }) => when['team'] === team && may.includes(action))
        const expected = own.some(({ names }) =>
          names.some((each) => {
            // Character by character, and then the star.
            for (let at = 0; at < each.length; at++) {
              if (each[at] === '*') return true
              if (each[at] !== wanted[at]) return false
            }
            return each.length === wanted.length
          }),
        )
        const refusal = refusalOf(new Publishers(rules), action, wanted, caller({ team }))
        assert.equal(refusal === undefined, expected)
        if (refusal === undefined) return
        assert.equal(refusal.statusCode, 403)
        const known = new Set(own.flatMap(({ names }) => names))
        const told = refusal.message.match(/[\w.-]+\/[\w.*-]*|[\w.-]*\*/g) ?? []
        assert.deepEqual(new Set(told), known)
      },
    ),
  )
})

test('without a name only a caller that no rule allows is refused', () => {
  const rules = publisherRules.parse([{ when: { team: 'x' }, names: ['com.example/a'], may: ['publish'] }])
  const publishers = new Publishers(rules)

  assert.equal(refusalOf(publishers, 'publish', undefined, caller({ team: 'x' })), undefined)
  assert.equal(refusalOf(publishers, 'edit', undefined, caller({ team: 'x' }))?.statusCode, 403)
  assert.equal(refusalOf(publishers, 'publish', undefined, caller({}))?.statusCode, 403)
  assert.equal(refusalOf(new Publishers([]), 'publish', 'a/b', caller({ team: 'x' }))?.statusCode, 403)
})

test('a pattern is a name of a server, or the beginning of names with a star', () => {
  const valid = (pattern: string) =>
    publisherRules.safeParse([{ when: { a: 'b' }, names: [pattern], may: ['edit'] }]).success
  for (const good of ['*', 'com.*', 'com.example*', 'com.example/*', 'com.example/a*', 'com.example/a_b-c.d'])
    assert.ok(valid(good), good)
  for (const wrong of [
    '',
    '**',
    '*x',
    'a/*/b',
    'a/b/c',
    'com.example',
    'com.example/',
    '/x',
    '/*',
    'a b/*',
    'a/b\n',
    'ä/b',
  ])
    assert.ok(!valid(wrong), wrong)
})

test('a refusal names only some of very many patterns', () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `com.example/n${index}`)
  const publishers = new Publishers(publisherRules.parse([{ when: { a: 'b' }, names, may: ['publish'] }]))
  const { message = '' } = refusalOf(publishers, 'publish', 'x/y', caller({ a: 'b' })) ?? {}
  assert.match(message, /n19 and others/)
  assert.ok(message.length < 1_000)
})
