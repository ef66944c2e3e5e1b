import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type List } from 'sallyport'
import { boot, planList, warningsOf } from 'sallyport/embed'
import { z } from 'zod'
import { contextFor, recordedLog } from '#kit/booted.js'

const warningPlugin = (name: string, warnings: () => readonly { place: string; message: string }[]) =>
  definePlugin({
    name,
    api: 1,
    options: z.strictObject({ rules: z.array(z.string()) }),
    warnings,
    setup() {},
  })

const options = { rules: ['a', 'b'] }
const list: List = [
  { use: warningPlugin('one', () => [{ place: 'rules[1]', message: 'applies to nothing' }]), with: options },
  {
    scope: '/inner',
    plugins: [
      {
        use: warningPlugin('two', () => [{ place: 'rules[0]', message: 'is there twice' }]),
        with: options,
        origin: { rules: ['policies', 3] },
      },
    ],
  },
  {
    use: warningPlugin('three', () => {
      throw new Error('quoting a secret')
    }),
    with: options,
  },
]

test('warnings of plugins have the places where options were written, and a failing plugin shows no message of its own', async () => {
  const locate = (path: readonly (string | number)[]): string => `a.yaml ${path.join('/')}`
  const plan = await planList(list, { ...contextFor({}), locate })

  assert.deepEqual(warningsOf(plan), [
    { place: 'a.yaml plugins/0/with/rules/1 (one)', message: 'applies to nothing' },
    { place: 'a.yaml policies/3/0 (two)', message: 'is there twice' },
    { place: 'plugin "three"', message: 'the plugin failed in `warnings`' },
  ])
})

test('a start logs a line for each warning', async (t) => {
  const { log, lines } = recordedLog()
  const instance = await boot(list, contextFor({ log }))
  t.after(() => instance.stop())

  const warned = lines.filter(({ msg }) => /one|two|three/.test(String(msg)))
  assert.deepEqual(
    warned.map(({ level, msg }) => [level, msg]),
    [
      ['warn', 'plugin "one": rules[1]: applies to nothing'],
      ['warn', 'plugin "two": rules[0]: is there twice'],
      ['warn', 'plugin "three": the plugin failed in `warnings`'],
    ],
  )
})
