import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { inspect } from 'node:util'
import { ConfigError, definePlugin, type Gateway, GatewayError, PublicPath, Telemetry } from 'sallyport'
import { boot, serve } from 'sallyport/embed'
import { z } from 'zod'
import { booted, contextFor, recordedLog } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { plugin } from '#kit/plugin.js'

const context = contextFor({})

test('Fastify plugins that a plugin registers have a deadline, whose error names the plugin', async () => {
  const never = (): Promise<void> => new Promise(() => {})
  const limits = { setup: 50, stop: 50 }
  const cases: [string, (gateway: Gateway) => unknown, RegExp][] = [
    ['hangs', ({ http }) => void http.register(never), /plugin "hangs" failed in setup: it did not return/],
    [
      'rejects',
      ({ http }) => void http.register(() => Promise.reject(new Error('inner'))),
      /plugin "rejects" failed in setup: inner/,
    ],
    ['ready', ({ http }) => void http.addHook('onReady', never), /failed in setup: it did not return/],
  ]
  for (const [name, setup, expected] of cases) {
    await assert.rejects(boot([plugin(name, setup)], { ...context, limits }), expected)
  }

  const closing = await boot([plugin('closing', ({ http }) => void http.addHook('onClose', never))], {
    ...context,
    limits,
  })
  await closing.stop()
})

test('a setup that returns after its deadline leaves nothing open', async () => {
  const closedAgain: string[] = []
  let late: Promise<void> = Promise.resolve()
  const slow = plugin('slow', (gateway) => {
    late = setTimeout(60).then(() => gateway.onStop(() => void closedAgain.push('closed')))
    return late
  })
  await assert.rejects(boot([slow], { ...context, limits: { setup: 20 } }))
  await late
  assert.deepEqual(closedAgain, ['closed'])
})

test('the start logs all routes and paths that need no credentials', async (t) => {
  const { log, lines } = recordedLog()
  const opening = plugin(
    'opening',
    (gateway) => {
      gateway.provide(PublicPath, '/open')
      gateway.http.addHook('onRoute', (route) => {
        if (route.url === '/late') route.config = { ...route.config, public: true }
      })
      gateway.http.get('/late', () => 'late')
    },
    { provides: [PublicPath] },
  )
  await booted(t, [opening], { log })

  const told = lines.find(({ msg }) => msg === 'these routes and paths need no credentials')
  assert.deepEqual(told?.['paths'], ['/open'])
  assert.deepEqual(told?.['routes'], ['GET /late', 'HEAD /late'])
  assert.equal(told?.['level'], 'info')
})

test('an observer that is not required may fail, and the gateway goes on without it', async () => {
  const observer = definePlugin({
    name: 'observer',
    api: 1,
    provides: [Telemetry],
    setup() {
      throw new Error('no disk')
    },
  })
  const { log, lines } = recordedLog()
  const running = await boot([{ use: observer, required: false }], { ...context, log })
  await running.stop()
  assert.ok(lines.some(({ plugin, level }) => plugin === 'observer' && level === 'warn'))

  const refused = boot([{ use: 'auth/anonymous', required: false }], context)
  await assert.rejects(refused, /plugins\[0\]\.required: "auth\/anonymous" must not have `required: false`/)
})

test('an option marked writeOnly is in no log line, however the plugin logs it', async () => {
  const { log, lines, scrubber } = recordedLog()
  const secretive = definePlugin({
    name: 'secretive',
    api: 1,
    options: z.object({
      name: z.string(),
      key: z.string().meta({ writeOnly: true }),
      pins: z.array(z.number()).meta({ writeOnly: true }),
      account: z.object({ password: z.string().meta({ writeOnly: true }) }),
    }),
    setup(gateway, options) {
      gateway.log.info({ options }, `signing with ${options.key}`)
      gateway.log.warn(new Error(`${options.account.password} and ${options.pins[0]}`))
      gateway.onStop(() => gateway.log.info(encodeURIComponent(options.key)))
    },
  })
  const options = { name: 'shown', key: 'canary/key', pins: [471_147], account: { password: 'canary-pass' } }
  const running = await boot([{ use: 'auth/anonymous' }, { use: secretive, with: options }], {
    ...context,
    log,
    scrubber,
  })
  await running.stop()

  const written = JSON.stringify(lines)
  assert.match(written, /shown.*signing with \*\*\*/)
  assert.doesNotMatch(written, /canary|471147/)
  assert.equal(scrubber.knows('canary/key'), false)
})

test('an option marked writeOnly is in no log line of a plugin that is loaded by path', async (t) => {
  const source = `
    const schema = { type: 'object', properties: { key: { type: 'string', writeOnly: true } } }
    const validate = (value) => ({ value })
    export default {
      name: 'secretive',
      api: 1,
      options: { '~standard': { version: 1, vendor: 'own', validate, jsonSchema: { input: () => schema } } },
      setup: (gateway, { key }) => gateway.log.warn('signing with ' + key),
    }`
  const { log, lines, scrubber } = recordedLog()
  const list = [{ use: './secretive.mjs', with: { key: 'canary/key' } }]
  await booted(t, list, { log, scrubber, folder: folder(t, { 'secretive.mjs': source }) })

  assert.ok(lines.some(({ msg }) => msg === 'signing with ***'))
})

test('an option marked writeOnly is in no error of a plugin, whatever the plugin throws and when', async () => {
  const secret = 'canary/key'
  const thrown = (): Error[] => [
    new TypeError(`${secret} is wrong`, { cause: new Error(encodeURIComponent(secret), { cause: secret }) }),
    new ConfigError([{ place: 'key', message: `${secret} is none` }]),
    new GatewayError('FILE_UNREADABLE', `no file ${secret}`),
  ]
  for (const phase of ['setup', 'start', 'ready'] as const) {
    for (const error of thrown()) {
      const failing = definePlugin({
        name: 'failing',
        api: 1,
        options: z.object({ key: z.string().meta({ writeOnly: true }) }),
        setup(gateway) {
          const fail = (): never => {
            throw error
          }
          if (phase === 'setup') fail()
          else if (phase === 'start') gateway.onStart(fail)
          else gateway.onReady(fail)
        },
      })
      const list = [{ use: 'auth/anonymous' }, { use: failing, with: { key: secret } }]
      const told = await serve(list, context).then(
        () => 'it started',
        (failure: unknown) => inspect(failure, { depth: 9 }),
      )
      assert.match(told, /\*\*\*/)
      assert.doesNotMatch(told, /canary/)
    }
  }
})
