import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, definePlugin, type List, one } from 'sallyport'
import { planList } from 'sallyport/embed'
import { z } from 'zod'
import { contextFor } from '#kit/booted.js'

const Salt = one<string>('salt')
const taker = definePlugin({ name: 'taker', api: 1, requires: [Salt], setup() {} })
const giver = definePlugin({
  name: 'giver',
  api: 1,
  provides: [Salt],
  options: z.strictObject({ grains: z.number() }),
  setup: (gateway) => gateway.provide(Salt, 'x'),
})
const written = {
  ...contextFor({}),
  locate: (path: readonly (string | number)[]) => `a.yaml ${path.join('/')}`,
}

async function problems(list: List, context = contextFor({})): Promise<readonly string[]> {
  const refused = await planList(list, context).catch((error: unknown) => error)
  assert.ok(refused instanceof ConfigError)
  return refused.problems.map(({ place, message }) => `${place}: ${message}`)
}

const NEEDED = 'it needs a salt, and nothing in the list provides one'

test('a missing capability is reported where its entry was named, or by its id if no person wrote it', async () => {
  const list = [
    { use: taker, named: ['plugins', 4, 'use'] },
    { scope: '/in', plugins: [{ use: taker, id: 'own' }] },
  ]
  const unwritten = `plugin "own" in /in: ${NEEDED}`
  assert.deepEqual(await problems(list, written), [`a.yaml plugins/4/use (taker): ${NEEDED}`, unwritten])
  assert.deepEqual(await problems(list), [`plugin "taker": ${NEEDED}`, unwritten])
})

test('the built-in plugins that provide a missing capability are named', async () => {
  const [lacking] = await problems([{ use: 'registry/api' }])
  assert.match(
    lacking ?? '',
    /needs a server catalogue, and nothing .* one; plugins that do: registry\/catalogue$/,
  )
})

test('a mistake in the options of one plugin does not hide a missing capability of another', async () => {
  const other = definePlugin({ ...giver, name: 'other', provides: [] })
  assert.deepEqual(await problems([{ use: other, with: { grains: 'many' } }, { use: taker }]), [
    'plugins[0].with.grains (other): expected number, got string',
    `plugin "taker": ${NEEDED}`,
  ])
  assert.deepEqual(await problems([{ use: giver, with: { grains: 'many' } }, { use: taker }]), [
    'plugins[0].with.grains (giver): expected number, got string',
  ])
})

test('no capability is reported as missing while a plugin cannot be loaded', async () => {
  for (const unknown of [{ use: './missing.js' }, 7])
    assert.equal((await problems([unknown, { use: taker }] as List)).length, 1)
})
