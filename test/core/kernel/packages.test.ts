import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, definePlugin, type List } from 'sallyport'
import { missingPackagesOf, planList } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'

const needing = (name: string, importPackages: () => Promise<unknown>) =>
  definePlugin({ name, api: 1, importPackages, setup() {} })

test('missing packages of each plugin are reported as a start would, also in scopes', async () => {
  const lacking = needing('lacking', async () => {
    throw new ConfigError([{ place: 'pg', message: 'not installed' }])
  })
  const failing = needing('failing', async () => {
    throw new TypeError('a slip')
  })
  const list: List = [
    { use: needing('whole', async () => ({})) },
    { use: definePlugin({ name: 'plain', api: 1, setup() {} }) },
    { scope: '/inner', plugins: [{ use: lacking }] },
    { use: failing, named: ['plugins', 3] },
  ]
  const locate = (path: readonly (string | number)[]): string => `a.yaml ${path.join('/')}`
  const plan = await planList(list, { ...contextFor({}), locate })

  const missing = await missingPackagesOf(plan)
  assert.deepEqual(
    missing.map(({ place }) => place),
    ['plugin "lacking": pg', 'a.yaml plugins/3 (failing)'],
  )
  assert.deepEqual(missing[0]?.message, 'not installed')
  assert.match(missing[1]?.message ?? '', /a slip/)
})
