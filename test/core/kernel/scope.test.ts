import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, definePlugin, type Gateway, Guard, Limiter, many, one } from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor } from '#kit/booted.js'

const context = contextFor({})

test('`provides`, `requires`, `provide` and `use` are checked against each other', async () => {
  const Salt = one<string>('salt')
  const Spice = many<string>('spice')
  const giver = (name: string, more: object, value = 'x') =>
    definePlugin({
      name,
      api: 1,
      provides: [Salt],
      setup: (gateway) => gateway.provide(Salt, value),
      ...more,
    })
  const taker = definePlugin({ name: 'taker', api: 1, requires: [Salt, Spice], setup() {} })

  const problemsOf = async (...plugins: ReturnType<typeof definePlugin>[]): Promise<string[]> => {
    try {
      await (
        await boot(
          plugins.map((use) => ({ use })),
          context,
        )
      ).stop()
      return []
    } catch (error) {
      return error instanceof ConfigError
        ? error.problems.map(({ message }) => message)
        : [(error as Error).message]
    }
  }

  assert.deepEqual(await problemsOf(taker), [
    'it needs a salt, and nothing in the list provides one',
    'it needs a spice, and nothing in the list provides one',
  ])
  assert.match(
    (await problemsOf(giver('a', {}), giver('b', {})))[0] ?? '',
    /it provides a salt, and so does "a"/,
  )
  assert.match((await problemsOf(giver('a', { provides: [] })))[0] ?? '', /`provides` does not list it/)
  const twice = giver('a', {
    setup: (gateway: Gateway) =>
      void { first: gateway.provide(Salt, 'x'), second: gateway.provide(Salt, 'x') },
  })
  assert.match((await problemsOf(twice))[0] ?? '', /salt was provided twice/)
  const undeclared = definePlugin({ name: 'u', api: 1, setup: (gateway) => void gateway.use(Salt) })
  assert.match((await problemsOf(undeclared))[0] ?? '', /`requires` does not list it/)
  const hasty = definePlugin({
    name: 'h',
    api: 1,
    requires: [Salt],
    setup: (gateway) => void gateway.use(Salt)(),
  })
  assert.match((await problemsOf(giver('a', {}), hasty))[0] ?? '', /was read during setup/)
  const late = giver('a', { setup: (gateway: Gateway) => gateway.onStart(() => gateway.provide(Salt, 'x')) })
  assert.match((await problemsOf(late))[0] ?? '', /lists salt, and setup did not provide it/)
  const again = giver('a', {
    setup(gateway: Gateway) {
      gateway.provide(Salt, 'x')
      gateway.onStart(() => gateway.provide(Salt, 'x'))
    },
  })
  assert.match((await problemsOf(again))[0] ?? '', /provided after setup/)
})

test('a plugin that provides `undefined` by mistake stops the start: no guard or limiter goes missing', async () => {
  for (const capability of [Guard, Limiter]) {
    for (const nothing of [undefined, null]) {
      const slip = definePlugin({
        name: 'slip',
        api: 1,
        provides: [capability],
        setup: (gateway) => gateway.provide<unknown>(capability, nothing),
      })
      const message = new RegExp(
        `^plugin "slip" failed in setup: ${capability.name} was provided as ${nothing}`,
      )
      await assert.rejects(boot([{ use: slip }], context), { code: 'PLUGIN_FAILED', message })
    }
  }
})

test('the compiler refuses to provide `undefined` too', async () => {
  const slip = definePlugin({
    name: 'slip',
    api: 1,
    provides: [Guard],
    // @ts-expect-error the value may be undefined
    setup: (gateway) => gateway.provide(Guard, new Map<string, Guard>().get('none')),
  })
  await assert.rejects(boot([{ use: slip }], context), { code: 'PLUGIN_FAILED' })
})
