import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { commands } from '#cli/commands/index.js'
import { environmentNames } from '#cli/line/environment.js'
import type { Option, OptionType } from '#cli/line/option.js'
import { accumulates } from '#cli/line/option.js'
import { dispatch } from '#cli/program.js'
import { parsed } from '../parsed.js'

const proxy = commands.find(({ name }) => name === 'proxy')
const options = (proxy?.groups ?? []).flatMap((group): readonly Option[] => group.options)
const flags = options.map(({ name }) => `--${name}`)

const anyWord = fc.oneof(
  fc.string(),
  fc.constantFrom(...flags, ...commands.map(({ name }) => name), '--', '-', '', '-h', '--=', '--__proto__=x'),
  fc.tuple(fc.constantFrom(...flags), fc.string()).map(([flag, value]) => `${flag}=${value}`),
)

test('no command line makes the parser throw, and every text it reads was written', () => {
  fc.assert(
    fc.property(fc.array(anyWord, { maxLength: 12 }), (argv) => {
      const { invocation, problems, asksFor } = parsed(argv)

      assert.ok(invocation !== undefined || problems.length > 0 || asksFor !== undefined)
      for (const { value, source } of invocation?.options.values() ?? []) {
        if (source === 'flag' && typeof value === 'string')
          assert.ok(argv.some((word) => word.endsWith(value)))
      }
      for (const word of invocation?.positionals ?? []) assert.ok(argv.includes(word))
    }),
    { numRuns: 2000 },
  )
})

const text = fc.string({ minLength: 1 })
const values: Readonly<Record<Exclude<OptionType, 'choice'>, fc.Arbitrary<string>>> = {
  boolean: fc.constantFrom('true', 'false'),
  string: text,
  count: fc.constantFrom('auto', '1', '256'),
  int: fc.integer({ min: 1 }).map(String),
  port: fc.integer({ min: 0, max: 65_535 }).map(String),
  url: fc.webUrl(),
  duration: fc.integer({ min: 0 }).map((count) => `${count}s`),
  size: fc.integer({ min: 0 }).map((count) => `${count}KiB`),
  address: fc.integer({ min: 0, max: 65_535 }).map((port) => `[::1]:${port}`),
  list: fc.array(fc.stringMatching(/^[a-z:/.]+$/), { minLength: 1 }).map((items) => items.join()),
  repeatable: text,
  pair: fc.tuple(fc.stringMatching(/^[A-Za-z-]+$/), fc.string()).map(([name, value]) => `${name}=${value}`),
}

const asked = options.filter(({ name }) => !['help', 'version', 'target-uri'].includes(name))
const uses = fc
  .shuffledSubarray(asked)
  .chain((chosen) => fc.tuple(...chosen.map((option) => usesOf(option))))
  .map((lists) => lists.flat())

function usesOf(option: Option) {
  const count = { minLength: 1, maxLength: accumulates(option) ? 3 : 1 }
  const value = option.type === 'choice' ? fc.constantFrom(...(option.choices ?? [])) : values[option.type]
  return fc.array(value, count).map((texts) => texts.map((each) => ({ option, text: each })))
}

const lines = fc
  .tuple(uses, fc.array(fc.boolean(), { minLength: 99, maxLength: 99 }), fc.infiniteStream(fc.nat()))
  .map(([list, joined, positions]) => {
    const inOrder = [{ option: { name: 'target-uri', type: 'url' }, text: 'https://t.example' }, ...list]
    const groups = inOrder.map(({ option, text: value }, index) =>
      joined[index % 99] || value.startsWith('-') || option.type === 'boolean'
        ? [`--${option.name}=${value}`]
        : [`--${option.name}`, value],
    )
    const plain = ['proxy', 'name', ...groups.flat()]
    const mixed = ['proxy', 'name'].reduce<string[][]>((all, word) => {
      const after = all.findIndex(([first]) => first === 'proxy') + 1
      const at = after + ((positions.next().value ?? 0) % (all.length + 1 - after))
      return [...all.slice(0, at), [word], ...all.slice(at)]
    }, groups)
    return { plain, mixed: mixed.flat() }
  })

test('the words of a command may stand anywhere among its flags', () => {
  fc.assert(
    fc.property(lines, ({ plain, mixed }) => {
      const one = parsed(plain)
      const other = parsed(mixed)

      assert.deepEqual(one.problems, [])
      assert.deepEqual(other.invocation?.positionals, ['name'])
      assert.deepEqual(other.invocation?.options, one.invocation?.options)
      assert.deepEqual(other.canonical, one.canonical)
    }),
    { numRuns: 500 },
  )
})

test('sade finds the same command in the canonical command line', async () => {
  await fc.assert(
    fc.asyncProperty(lines, async ({ mixed }) => {
      let called: string | undefined
      const watched = commands.map((command) => {
        const run = async () => {
          called = command.name
          return async () => undefined
        }
        return { ...command, run }
      })
      const { canonical, invocation } = parsed(mixed)

      await dispatch(canonical, watched)
      assert.equal(called, invocation?.command.name)
    }),
  )
})

test('variables give the same values as flags', () => {
  const once = uses.map((list) => list.filter(({ option }) => !accumulates(option)))
  fc.assert(
    fc.property(once, (list) => {
      const start = ['proxy', 'name', '--target-uri', 'https://t.example']
      const byFlag = parsed([...start, ...list.map(({ option, text: value }) => `--${option.name}=${value}`)])
      const variables = list.map(({ option, text: value }) => [environmentNames(option)[0], value] as const)
      const byVariable = parsed(start, Object.fromEntries(variables))

      assert.deepEqual(
        [...(byVariable.invocation?.options ?? [])].map(([name, { value }]) => [name, value]),
        [...(byFlag.invocation?.options ?? [])].map(([name, { value }]) => [name, value]),
      )
      assert.ok(byVariable.invocation !== undefined)
    }),
  )
})
