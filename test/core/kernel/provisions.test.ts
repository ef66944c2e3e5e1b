import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authenticator, definePlugin, type Gateway, Guard, Health, Policy } from 'sallyport'
import { boot, planList } from 'sallyport/embed'
import { z } from 'zod'
import { contextFor } from '#kit/booted.js'
import { plugin } from '#kit/plugin.js'

const context = contextFor({})
const health = { name: 'own', check: () => ({ status: 'ok' as const }) }

test('a plugin that declares a policy and provides none stops the start', async () => {
  for (const capability of [Policy, Guard, Authenticator]) {
    const forgets = plugin('forgets', () => {}, { provides: [capability] })
    await assert.rejects(boot([forgets], context), {
      code: 'PLUGIN_FAILED',
      message: new RegExp(
        `^plugin "forgets" failed in setup: .*lists ${capability.name}, .*gateway\\.provide`,
      ),
    })
    await assert.rejects(
      boot([{ scope: '/in', plugins: [forgets] }], context),
      /plugin "\/in forgets" failed/,
    )
  }
})

test('a plugin may provide until its setup has ended, and not during the setup of another', async () => {
  let given: Gateway | undefined
  const inPart = plugin(
    'in-part',
    (gateway) => {
      given = gateway
      gateway.http.register(async () => gateway.provide(Health, health))
    },
    { provides: [Health] },
  )
  const other = plugin('other', () => given?.provide(Health, health))
  await (await boot([inPart], context)).stop()
  await assert.rejects(boot([inPart, other], context), /health was provided after setup/)
})

const sometimes = definePlugin({
  name: 'sometimes',
  api: 1,
  provides: [Health],
  omits: ({ off }) => (off ? [Health] : []),
  options: z.strictObject({ off: z.boolean(), given: z.boolean() }),
  setup(gateway, { given }) {
    if (given) gateway.provide(Health, health)
  },
})

test('a capability that the options omit need not be provided, and no plugin may require it', async () => {
  const started = (off: boolean, given: boolean) => boot([{ use: sometimes, with: { off, given } }], context)
  for (const off of [true, false]) await (await started(off, !off)).stop()
  await assert.rejects(started(true, true), /health was provided, but .*`omits` does/)
  await assert.rejects(started(false, false), /lists health, and setup did not provide it/)

  const Salt = { ...Policy, name: 'salt', token: Symbol('salt') }
  const salty = definePlugin({ name: 'salty', api: 1, provides: [Salt], omits: () => [Salt], setup() {} })
  const needing = definePlugin({ name: 'needing', api: 1, requires: [Salt], setup() {} })
  await assert.rejects(planList([{ use: salty }, { use: needing }], context), /"needing": it needs a salt/)
})

test('an error of `omits` is a problem of the list, and its message is not shown', async () => {
  const omits = (): never => {
    throw new Error('swordfish')
  }
  const failing = definePlugin({ name: 'failing', api: 1, omits, setup() {} })
  await assert.rejects(planList([{ use: failing }], context), {
    message: 'plugins[0].use: "failing" failed in `omits`',
  })
})
