import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { walkJson } from '#plugins/source/json-walk.js'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isWalked = (text: string): Promise<boolean> =>
  walkJson(Buffer.from(text)).then(
    () => true,
    (error) => {
      assert.ok(error instanceof SyntaxError)
      return false
    },
  )

test('the walk accepts exactly the texts that JSON.parse accepts', async () => {
  const piece = fc.constantFrom(
    ...Array.from('[]{},:"\\ \n\t01-+.eE'),
    'true',
    'null',
    '"a"',
    '"\\u00e',
    '"a":',
    'é',
    '\u0001',
  )
  const broken = fc.tuple(fc.json(), fc.nat(), fc.oneof(piece, fc.constant(''))).map(([text, at, put]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + put + text.slice(place + 1)
  })
  const text = fc.oneof(
    fc.json(),
    broken,
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  )
  await fc.assert(
    fc.asyncProperty(text, async (given) => assert.equal(await isWalked(given), isJson(given))),
    { numRuns: runs(3_000) },
  )
})

test('the walk visits every value down to its depth, with its path', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const visited: [string, unknown][] = []
      await walkJson(Buffer.from(JSON.stringify(value)), 100, (path, kind, text) =>
        visited.push([JSON.stringify(path), kind === 'scalar' ? JSON.parse(text()) : kind]),
      )
      assert.deepEqual(visited, valuesIn(value, []))
    }),
  )
})

test('very deep nesting and very long strings are refused', async () => {
  for (const text of ['['.repeat(1_000_000), '{"a":'.repeat(200_000), `"${'x'.repeat(17 * 1024 ** 2)}"`]) {
    assert.equal(await isWalked(text), false)
  }
})

test('a text of escapes takes hardly longer than another one, since a string is read without a pause', async () => {
  const SIZE = 12_000_000
  const took = async (part: string): Promise<number> => {
    const text = Buffer.from(`"${part.repeat(SIZE / part.length)}"`)
    const times: number[] = []
    for (let round = 0; round < 5; round++) {
      const since = performance.now()
      await walkJson(text)
      times.push(performance.now() - since)
    }
    return Math.min(...times)
  }
  const plain = await took('abcdef')
  for (const part of ['\\u00e9', '\\n']) assert.ok((await took(part)) < 5 * plain, part)
})

function valuesIn(value: unknown, path: readonly (string | number)[]): [string, unknown][] {
  const place = JSON.stringify(path)
  if (Array.isArray(value)) {
    return [[place, 'list'], ...value.flatMap((each, at) => valuesIn(each, [...path, at]))]
  }
  if (typeof value !== 'object' || value === null) return [[place, JSON.parse(JSON.stringify(value))]]
  return [
    [place, 'object'],
    ...Object.entries(value).flatMap(([key, each]) => valuesIn(each, [...path, key])),
  ]
}
