import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { covers, globOf, matches, overlap } from '#core/toolkit/glob.js'
import { runs } from '#kit/runs.js'

/** Slow, and plain to read: a table of which beginnings match. */
function reference(pattern: string, text: string): boolean {
  let row = [true, ...Array.from(text, () => false)]
  for (const character of pattern.split('')) {
    const next: boolean[] = [character === '*' && row[0] === true]
    for (const [index, own] of text.split('').entries())
      next.push(
        character === '*'
          ? row[index + 1] === true || next[index] === true
          : row[index] === true && own === character,
      )
    row = next
  }
  return row.at(-1) === true
}

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 7 })
const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 9 })
// Patterns that a regular expression or a count of characters would get wrong.
const anyPattern = fc.string({ unit: fc.constantFrom('a', '.', '*', '\n', '😀'), maxLength: 7 })
const anyText = fc.string({ unit: fc.constantFrom('a', '.', '\n', '😀'), maxLength: 9 })
const letters = ['', 'a', 'b']
const pairs = letters.flatMap((first) => letters.map((second) => first + second))
const texts = pairs.flatMap((first) => pairs.map((second) => first + second))

test('a star matches any run of characters, every other character only itself', () => {
  assert.ok(matches(globOf('a*c'), 'abc'))
  assert.ok(matches(globOf('a*c'), 'ac'))
  assert.ok(matches(globOf('*'), ''))
  assert.ok(!matches(globOf('aa*aa'), 'aaa'))
  assert.ok(!matches(globOf('a.c'), 'abc'))
  assert.ok(!matches(globOf('A'), 'a'))
  assert.ok(!matches(globOf('\u00e9'), 'e\u0301'))
  for (const [patterns, names] of [
    [pattern, text],
    [anyPattern, anyText],
  ] as const)
    fc.assert(
      fc.property(patterns, names, (one, other) => matches(globOf(one), other) === reference(one, other)),
      { numRuns: runs(3000) },
    )
})

test('two patterns overlap if and only if a text matches both', () => {
  fc.assert(
    fc.property(pattern, pattern, (one, other) => {
      const found = texts.some((each) => matches(globOf(one), each) && matches(globOf(other), each))
      if (found) assert.ok(overlap(globOf(one), globOf(other)))
      // Without its stars, one of them is short enough for a text of both to be among these.
      const isShort = one.replaceAll('*', '').length + other.replaceAll('*', '').length <= 4
      if (!found && isShort) assert.ok(!overlap(globOf(one), globOf(other)))
    }),
    { numRuns: runs(3000) },
  )
})

test('a pattern covers another only when it matches every text that the other matches', () => {
  assert.ok(covers(globOf('a*'), globOf('ab*')))
  assert.ok(!covers(globOf('ab*'), globOf('a*')))
  fc.assert(
    fc.property(pattern, pattern, text, (one, other, each) => {
      if (covers(globOf(one), globOf(other)) && matches(globOf(other), each))
        assert.ok(matches(globOf(one), each))
    }),
    { numRuns: runs(3000) },
  )
})

test('the time of a match grows only with the length of the name', () => {
  const glob = globOf(`${'a*'.repeat(100)}b`)
  const name = 'a'.repeat(1_000_000)
  const begun = process.cpuUsage().user
  for (let round = 0; round < 20; round++) assert.ok(!matches(glob, name))
  assert.ok(process.cpuUsage().user - begun < 2_000_000)
})
