import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Capability, ConfigError, definePlugin, type List, many, one } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { planList } from 'sallyport/embed'
import { contextFor, recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { problemsOf } from './problems-of.js'

const context = contextFor({})

test('invalid lists, and paths that two scopes share, are problems', async () => {
  const lists: unknown[] = [
    [null],
    ['x'],
    [5],
    {},
    [{ scope: '/a' }],
    [{ use: 7 }],
    [{ use: 'auth/anonymous', id: 7 }],
    [{ use: 'auth/anonymous', required: 'no' }],
    [{ use: 'constructor' }],
    [{ use: '__proto__' }],
    [{ use: '' }],
    [{ use: 'node:fs' }],
    [{ use: 'data:text/javascript,export default 1' }],
    [{ use: 'listen/http', with: { address: '127.0.0.1:99999' } }],
    [{ use: 'auth/anonymous', with: JSON.parse('{"__proto__":{"a":1}}'), origin: {} }],
    [{ use: 'auth/anonymous', with: { constructor: 1 }, origin: {} }],
    [
      { scope: '/a/b', plugins: [] },
      { scope: '/a', plugins: [{ scope: '/b', plugins: [] }] },
    ],
    [{ scope: '/..', plugins: [] }],
    [{ scope: '/a/./b', plugins: [] }],
  ]
  for (const list of lists) {
    await assert.rejects(
      planList(list as List, context),
      (error) => error instanceof ConfigError && error.problems.length === 1,
      JSON.stringify(list),
    )
  }
  const silent = { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues: [] }) } } as const
  const loud = { '~standard': { version: 1, vendor: 'x', validate: () => assert.fail('SECRET') } } as const
  for (const options of [silent, loud]) {
    const refused = planList(
      [{ use: definePlugin({ name: 'x', api: 1, options, setup() {} }), with: { a: 'SECRET' } }],
      context,
    )
    await assert.rejects(
      refused,
      (error) => error instanceof ConfigError && !error.message.includes('SECRET'),
    )
  }
})

test('an id that is used twice in a scope is refused', async (t) => {
  const origin = { use: 'guard/origin', with: { allowed: [] } }
  const root = folder(t)
  const problems = await problemsOf([origin, origin], root)
  assert.match(problems[0]?.message ?? '', /"guard\/origin" is in the list already, at plugins\[0\]/)

  await planList([origin, { ...origin, id: 'second' }, { scope: '/a', plugins: [origin] }], {
    catalogue,
    folder: root,
    log: recordedLog().log,
  })
})

test('a scope path that is not one leading slash and plain segments is refused', async (t) => {
  for (const scope of ['github', '/github/', '/', '', '/a b', '/:name', '/*']) {
    const problems = await problemsOf([{ scope, plugins: [] }], folder(t))
    assert.equal(problems[0]?.place, 'plugins[0].scope', scope)
  }
})

test('a plugin may require capabilities of outer scopes, and shared ones of any scope', async () => {
  const [outer, shared, own] = [one('outer'), many('shared', { shared: true }), many('own')]
  const giving = (...provides: Capability[]) => ({
    use: definePlugin({ name: 'giving', api: 1, provides, setup() {} }),
  })
  const needing = (...requires: Capability[]) => ({
    use: definePlugin({ name: 'needing', api: 1, requires, setup() {} }),
  })
  const inner = { scope: '/a', plugins: [{ scope: '/b', plugins: [needing(outer, shared)] }] }
  const beside = { scope: '/c', plugins: [giving(shared, own)] }
  await planList([needing(shared), inner, beside, giving(outer)], context)

  await assert.rejects(planList([needing(own), beside], context), /it needs an own, and nothing/)
})
