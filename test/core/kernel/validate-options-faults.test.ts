import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { validateOptions } from '#core/kernel/validate-options.js'
import { runs } from '#kit/runs.js'

const part = z
  .strictObject({
    name: z.string(),
    url: z.url(),
    secret: z.string().optional(),
    file: z.string().optional(),
  })
  .superRefine(({ secret, file }, context) => {
    if (secret !== undefined && file !== undefined)
      context.issues.push({ code: 'custom', input: secret, path: ['file'], message: 'not both' })
  })
const schema = z
  .strictObject({ realm: z.string(), parts: z.array(part).min(1) })
  .superRefine(({ parts }, context) => {
    for (const [index, { name }] of parts.entries())
      if (parts.findIndex((each) => each.name === name) < index)
        context.issues.push({
          code: 'custom',
          input: name,
          path: ['parts', index, 'name'],
          message: 'repeated',
        })
  })

async function faults(value: unknown, of: z.ZodType = schema): Promise<readonly string[]> {
  const result = await validateOptions(of, value)
  return 'problems' in result ? result.problems.map(({ path }) => path.join('.')).toSorted() : []
}

const right = () => ({
  realm: 'mine',
  parts: [
    { name: 'a', url: 'https://a.example' } as Record<string, unknown>,
    { name: 'b', url: 'https://b.example' } as Record<string, unknown>,
  ],
})

// Each fault is independent of the others, and is one problem.
const MISTAKES: readonly (readonly [path: string, make: (value: ReturnType<typeof right>) => void])[] = [
  ['realm', (value) => Object.assign(value, { realm: ['x'] })],
  ['typo', (value) => Object.assign(value, { typo: 1 })],
  ['parts.0.url', ({ parts: [first] }) => delete first?.['url']],
  ['parts.0.file', ({ parts: [first] }) => Object.assign(first ?? {}, { secret: 'x', file: 'y' })],
  ['parts.1.url', ({ parts: [, second] }) => Object.assign(second ?? {}, { url: 5 })],
  ['parts.1.name', ({ parts: [, second] }) => Object.assign(second ?? {}, { name: 'a' })],
  ['parts.1.urll', ({ parts: [, second] }) => Object.assign(second ?? {}, { urll: 'https://b.example' })],
]

// A rule about several keys is checked only when each of them is valid.
const RULES = ['parts.0.file', 'parts.1.name']

test('all problems of options are reported at once, except those of rules about several keys', async () => {
  assert.deepEqual(await faults(right()), [])
  await fc.assert(
    fc.asyncProperty(fc.subarray([...MISTAKES]), async (mistakes) => {
      const value = right()
      for (const [, make] of mistakes) make(value)
      const made = mistakes.map(([path]) => path).toSorted()
      const found = await faults(value)

      const ofForm = made.filter((path) => !RULES.includes(path))
      assert.deepEqual(
        found.filter((path) => !RULES.includes(path)),
        ofForm,
      )
      assert.ok(found.every((path) => made.includes(path)))
      if (ofForm.length === 0) assert.deepEqual(found.length > 0, made.length > 0)
    }),
    { numRuns: runs(128) },
  )
})

test('a required key that is misspelt is one problem', async () => {
  const { parts } = right()
  assert.deepEqual(await faults({ relm: 'mine', parts }), ['relm'])
  assert.deepEqual(await faults({ realm: 'mine', parts: [{ name: 'a', ulr: 'https://a.example' }] }), [
    'parts.0.ulr',
  ])
})

test('a rule about several keys is not reported while one of these keys is', async () => {
  const either = z
    .strictObject({ token: z.string().regex(/^\w+$/).optional(), file: z.string().optional() })
    .refine(({ token, file }) => token !== undefined || file !== undefined, 'one of them')

  assert.deepEqual(await faults({}, either), [''])
  assert.deepEqual(await faults({ token: 'not one' }, either), ['token'])
  assert.deepEqual(await faults({ tokn: 'x' }, either), ['tokn'])
})

test('options that are no mapping are one problem, and valid ones are replaced by the result of the schema', async () => {
  for (const value of [5, 'x', ['x']]) assert.deepEqual(await faults(value), [''])
  assert.deepEqual(await validateOptions(schema, right()), { value: right() })
})
